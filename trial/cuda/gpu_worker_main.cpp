// ocrtune-gpu-worker: everything that touches a GPU driver, in a process that may hang or die.
//
// `probe` writes one line of JSON on stdout (probes/machine/gpu_report.h). The library asked is
// OCRTUNE_NVML_PATH, else libnvidia-ml.so.1.
// `train --spec JSON`, `infer --spec JSON` and `fit --spec JSON` become ocrtune-cuda-core: a rank
// of a trial, a reader, a whole training. `step KIND ...` becomes ocrtune-cuda-worker beside this
// program, which is there where the build found CUDA (`core`, `ready`: ocrtune-cuda-core, where it
// found cuDNN too); its findings go to stdout (probes/p2p/steps/gpu_finding.h).
// OCRTUNE_CUDA_ROOT names where CUDA's libraries lie (probes/gpu/cuda_libraries.h); unless it does,
// they are looked for in the Python environment that this program was installed into.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/files.h"
#include "base/process.h"
#include "probes/gpu/cuda_libraries.h"
#include "probes/gpu/nvml.h"
#include "probes/p2p/steps/gpu_finding.h"

namespace {

int say(const std::string& line) {
  return std::fputs(line.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? 0 : 3;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string library_path() {
  std::string root = variable("OCRTUNE_CUDA_ROOT");
  if (root.empty()) root = ocrtune::parent_path(ocrtune::parent_path(ocrtune::own_program()));
  return ocrtune::cuda_library_path(root, variable("LD_LIBRARY_PATH"));
}

int probe() {
  ocrtune::GpuReport report = ocrtune::read_nvml(variable("OCRTUNE_NVML_PATH"));
  const int said = say(ocrtune::gpu_report_line(report));
  if (said != 0 || report.gpus.empty()) return said;
  // Once more, the last counts: a library that kills this process takes only its version along.
  report.nccl_version = ocrtune::read_nccl_version(variable("OCRTUNE_NCCL_PATH"), library_path());
  return say(ocrtune::gpu_report_line(report));
}

int cannot(const std::string& why) {
  ocrtune::GpuFinding end;
  end.what = "end";
  end.outcome = "unsupported";
  end.detail = why;
  return say(ocrtune::gpu_finding_line(end));
}

std::string beside(const char* name) {
  return ocrtune::join_path(ocrtune::parent_path(ocrtune::own_program()), name);
}

// This process becomes `program`; returns where that fails.
void become(const std::string& program, char** argv) {
  const std::string path = library_path();
  if (!path.empty()) ::setenv("LD_LIBRARY_PATH", path.c_str(), 1);
  ::execv(program.c_str(), argv);
}

int step(char** argv) {
  const bool core = std::strcmp(argv[2], "core") == 0 || std::strcmp(argv[2], "ready") == 0;
  const std::string program = beside(core ? "ocrtune-cuda-core" : "ocrtune-cuda-worker");
  if (!ocrtune::path_exists(program)) {
    return cannot("this build has no CUDA part (scripts/deps cuda, then build again)");
  }
  become(program, argv);
  return cannot(program + " does not start");
}

int compute(char** argv) {
  const std::string program = beside("ocrtune-cuda-core");
  become(program, argv);
  std::fputs((program + " does not start: this build has no CUDA core\n").c_str(), stderr);
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "probe") == 0) return probe();
  if (argc >= 3 && std::strcmp(argv[1], "step") == 0) return step(argv);
  const bool computes =
      argc >= 2 && (std::strcmp(argv[1], "train") == 0 || std::strcmp(argv[1], "infer") == 0 ||
                    std::strcmp(argv[1], "fit") == 0);
  if (computes) return compute(argv);
  std::fputs(
      "usage: ocrtune-gpu-worker probe | step KIND ... | train|infer|fit --spec JSON\n"
      "(started by ocrtune itself)\n",
      stderr);
  return 2;
}
