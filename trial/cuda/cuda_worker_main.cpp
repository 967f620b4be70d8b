// ocrtune-cuda-worker: one step on GPUs, in a process that may hang or die; started by
// ocrtune-gpu-worker. The only program that links CUDA. NCCL is opened when a step needs it.
#include <cstdio>
#include <cstdlib>

#include "probes/p2p/cuda/cuda_steps.h"
#include "probes/p2p/steps/gpu_step_order.h"

int main(int argc, char** argv) {
  const auto order = ocrtune::parse_gpu_step(argc, argv);
  if (!order) {
    std::fputs(("ocrtune-cuda-worker: " + order.error().what + "\n").c_str(), stderr);
    return 2;
  }
  const int code = ocrtune::run_cuda_step(*order, OCRTUNE_NCCL_FOLDER);
  std::fflush(stdout);
  std::_Exit(code);  // the runtime's own shutdown may hang on a sick GPU
}
