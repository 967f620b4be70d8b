// A child with its own guard, so that what the command leaves behind ends with it. It runs after
// the answer is printed and stored, and its failure changes neither.
#include "cli/shell/notify.h"

#include <fmt/format.h>

#include "base/process.h"
#include "base/text.h"

namespace ocrtune {
namespace {

// A guess: a message is sent in less, and the user's shell waits for it.
constexpr double kMostSeconds = 30;

}  // namespace

Status notify(const std::string& command, const Notice& notice) {
  ProcessOptions options;
  options.arguments = {"/bin/sh", "-c", command};
  options.environment = {{"OCRTUNE_RUN", notice.run},
                         {"OCRTUNE_VERDICT", notice.verdict},
                         {"OCRTUNE_SENTENCE", notice.sentence},
                         {"OCRTUNE_PAGE", notice.page}};
  options.guarded = true;
  Process process = OCRTUNE_TRY(Process::start(options));
  const auto exit = process.wait(kMostSeconds);
  if (exit && exit->clean()) return Status();
  const std::string why = exit ? exit->text() : fmt::format("no end in {:.0f} s", kMostSeconds);
  const std::string last(trim(process.output().tail(1)));
  return Error{ErrorKind::failed, last.empty() ? why : why + ": " + last};
}

}  // namespace ocrtune
