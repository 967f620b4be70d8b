// A runtime is recognised by the path of a mapped library. Rust and Go link theirs into the
// program, so the variable's own name is looked for in its bytes.
#include "trial/observe/thread_runtimes.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxProgramBytes = 64 << 20;

// The path behind the five fields of a line of /proc/PID/maps; "": memory of no file.
std::string path_of(const std::string& line) {
  const std::size_t slash = line.find('/');
  return slash == std::string::npos ? "" : line.substr(slash);
}

// Runtimes whose word the program holds.
std::set<std::string> held_statically(const std::string& program) {
  static std::mutex mutex;
  // Once for a path in this process's life, because whole programs are read.
  static std::map<std::string, std::set<std::string>> known;
  const std::lock_guard lock(mutex);
  const auto [found, fresh] = known.try_emplace(program);
  if (!fresh) return found->second;
  const auto bytes = read_file(program, kMaxProgramBytes);
  if (!bytes) return found->second;
  for (const ThreadRuntime& runtime : thread_runtime_table()) {
    if (*runtime.word == '\0') continue;
    if (::memmem(bytes->data(), bytes->size(), runtime.word, std::strlen(runtime.word)) !=
        nullptr) {
      found->second.insert(runtime.name);
    }
  }
  return found->second;
}

}  // namespace

const std::vector<ThreadRuntime>& thread_runtime_table() {
  static const std::vector<ThreadRuntime> kTable = {
      {"OpenMP", {"/libgomp", "/libomp", "/libiomp5"}, "", "OMP_NUM_THREADS", ""},
      {"MKL", {"/libmkl", "/libtorch_cpu"}, "", "MKL_NUM_THREADS", ""},
      {"OpenBLAS", {"openblas"}, "", "OPENBLAS_NUM_THREADS", ""},
      {"BLIS", {"/libblis"}, "", "BLIS_NUM_THREADS", ""},
      {"NumExpr", {"/numexpr/"}, "", "NUMEXPR_NUM_THREADS", ""},
      {"OpenCV", {"/libopencv_core", "/cv2/"}, "", "OPENCV_FOR_THREADS_NUM", ""},
      {"TensorFlow", {"tensorflow"}, "", "TF_NUM_INTRAOP_THREADS", ""},
      {"rayon", {}, "RAYON_NUM_THREADS", "RAYON_NUM_THREADS", ""},
      {"Go", {}, "GOMAXPROCS", "GOMAXPROCS", ""},
      {"Tesseract", {"/libtesseract"}, "", "", "OMP_THREAD_LIMIT"},
      {"ONNX Runtime", {"onnxruntime"}, "", "", "intra_op_num_threads"},
      // Wheels of Paddle 3.2 link it.
      {"OpenVINO", {"/libopenvino"}, "", "", "inference_num_threads", "/paddle/libs/"},
      {"oneTBB", {"/libtbb"}, "", "", "tbb::global_control"},
  };
  return kTable;
}

std::set<std::string> mapped_runtimes(const std::string& maps) {
  std::set<std::string> names;
  std::string last;
  for (const std::string& line : split(maps, '\n')) {
    std::string path = path_of(line);
    // A library has several mappings, which follow each other.
    if (path.empty() || path == last) continue;
    for (const ThreadRuntime& runtime : thread_runtime_table()) {
      const auto& parts = runtime.libraries;
      const bool has = std::any_of(parts.begin(), parts.end(), [&](const char* part) {
        // A folder named "tensorflow" holds data files as well: only shared objects count.
        return path.find(part) != std::string::npos && path.find(".so") != std::string::npos;
      });
      const std::string_view carrier = runtime.carried_in;
      if (!carrier.empty() && path.find(carrier) != std::string::npos) continue;
      if (has) names.insert(runtime.name);
    }
    last = std::move(path);
  }
  return names;
}

std::set<std::string> loaded_runtimes(const std::vector<ProcessFacts>& members) {
  std::set<std::string> names;
  // This program's own executable holds every name: it sends requests and starts copies.
  const std::string own = real_path("/proc/self/exe").value_or("");
  for (const ProcessFacts& process : members) {
    const std::string folder = fmt::format("/proc/{}", process.pid);
    const auto program = real_path(folder + "/exe");
    if (program && *program == own) continue;
    names.merge(mapped_runtimes(read_file(folder + "/maps", 16 << 20).value_or("")));
    if (program) names.merge(std::set<std::string>(held_statically(*program)));
  }
  return names;
}

bool reads_thread_variable(const std::set<std::string>& runtimes, const std::string& variable) {
  if (variable == "OMP_NUM_THREADS") return true;
  const auto& table = thread_runtime_table();
  return std::any_of(table.begin(), table.end(), [&](const ThreadRuntime& runtime) {
    return runtimes.contains(runtime.name) && variable == runtime.variable;
  });
}

const ThreadRuntime* pool_without_variable(const std::vector<std::string>& runtimes) {
  for (const ThreadRuntime& runtime : thread_runtime_table()) {
    const bool loaded = std::find(runtimes.begin(), runtimes.end(), runtime.name) != runtimes.end();
    if (loaded && *runtime.sized_by != '\0') return &runtime;
  }
  return nullptr;
}

std::vector<std::string> unread_thread_variables(const std::set<std::string>& runtimes) {
  std::vector<std::string> unread;
  for (const ThreadRuntime& runtime : thread_runtime_table()) {
    if (*runtime.variable == '\0' || reads_thread_variable(runtimes, runtime.variable)) continue;
    unread.emplace_back(runtime.variable);
  }
  return unread;
}

}  // namespace ocrtune
