// Where the built-in engine's parts are: in this program, or in which other one.
#include "trial/workloads/engine_parts.h"

#include <unistd.h>

#include <atomic>

#include "base/files.h"
#include "base/process.h"

namespace ocrtune {
namespace {

const EngineParts* g_parts = nullptr;
std::atomic<bool> g_asked = false;

}  // namespace

const EngineParts* engine_parts() { return g_parts; }
void set_engine_parts(const EngineParts* parts) { g_parts = parts; }

Result<std::uint64_t> training_bytes(const TrainerOptions& options) {
  return g_parts == nullptr ? engine_elsewhere() : g_parts->training_bytes(options);
}

Result<std::uint64_t> reading_bytes(const RecognizerOptions& options, int classes) {
  return g_parts == nullptr ? engine_elsewhere() : g_parts->reading_bytes(options, classes);
}

Result<std::string> engine_program() {
  const std::string here = parent_path(own_program());
  for (const std::string& folder : {here, join_path(parent_path(here), "libexec/ocrtune")}) {
    const std::string program = join_path(folder, kEngineProgram);
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  auto found = find_executable(kEngineProgram);
  if (found) return found;
  return Error{ErrorKind::missing,
               "the built-in OCR engine is not installed: pip install ocrtune-engine, or put "
               "ocrtune-engine into " +
                   here};
}

bool engine_was_asked() { return g_asked; }

Error engine_elsewhere() {
  g_asked = true;
  return {ErrorKind::unsupported, "the built-in OCR engine is another program, ocrtune-engine"};
}

}  // namespace ocrtune
