// ocrtune-gpu-worker: everything that touches a GPU driver, in a process that may hang or die.
//
// `probe` writes one line of JSON on stdout (probes/gpu_report.h). The library asked is
// OCRTUNE_NVML_PATH, else libnvidia-ml.so.1.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "probes/nvml.h"

namespace {

int probe() {
  const char* library = std::getenv("OCRTUNE_NVML_PATH");
  const std::string line =
      ocrtune::gpu_report_line(ocrtune::read_nvml(library == nullptr ? "" : library));
  return std::fputs(line.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? 0 : 3;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "probe") == 0) return probe();
  std::fputs("usage: ocrtune-gpu-worker probe (started by ocrtune itself)\n", stderr);
  return 2;
}
