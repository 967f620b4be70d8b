// ocrtune-gpu-worker: everything that touches a GPU driver, in a process that may hang or die.
//
// `probe` writes one line of JSON on stdout (probes/gpu_report.h). The library asked is
// OCRTUNE_NVML_PATH, else libnvidia-ml.so.1.
// `step KIND ...` hands over to libocrtune_cuda.so beside this program, which is there where the
// build found CUDA and starts where its libraries are; findings go to stdout
// (probes/gpu_finding.h).
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/files.h"
#include "probes/gpu_finding.h"
#include "probes/nvml.h"

namespace {

int say(const std::string& line) {
  return std::fputs(line.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? 0 : 3;
}

int probe() {
  const char* library = std::getenv("OCRTUNE_NVML_PATH");
  return say(ocrtune::gpu_report_line(ocrtune::read_nvml(library == nullptr ? "" : library)));
}

int cannot(const std::string& why) {
  ocrtune::GpuFinding end;
  end.what = "end";
  end.outcome = "unsupported";
  end.detail = why;
  return say(ocrtune::gpu_finding_line(end));
}

int step(int argc, char** argv) {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string own(path.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::string module = ocrtune::join_path(ocrtune::parent_path(own), "libocrtune_cuda.so");
  if (!ocrtune::path_exists(module)) return cannot("this build has no CUDA part");
  void* library = ::dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    return cannot(std::string("the CUDA part does not load: ") + (why == nullptr ? "" : why));
  }
  using Step = int (*)(int, char**);
  const auto run = reinterpret_cast<Step>(::dlsym(library, "ocrtune_gpu_step"));
  if (run == nullptr) return cannot(module + " is of another version");
  return run(argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "probe") == 0) return probe();
  if (argc >= 3 && std::strcmp(argv[1], "step") == 0) return step(argc - 2, argv + 2);
  std::fputs("usage: ocrtune-gpu-worker probe | step KIND ... (started by ocrtune itself)\n",
             stderr);
  return 2;
}
