// ocrtune-cuda-core: the OCR core on a GPU, in a process of its own; started by ocrtune-gpu-worker.
//
// `train --spec JSON`: trial/cuda/cuda_rank.h; `infer --spec JSON`: trial/cuda/cuda_infer.h; `fit --spec
// JSON`: trial/cuda/cuda_fit.h; `step ready` and `step core`: trial/cuda/cuda_core_step.h.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/interrupt.h"
#include "trial/cuda/cuda_core_step.h"
#include "trial/cuda/cuda_fit.h"
#include "trial/cuda/cuda_infer.h"
#include "trial/cuda/cuda_rank.h"

namespace {

int run(int argc, char** argv) {
  const std::string verb = argc == 4 && std::string(argv[2]) == "--spec" ? argv[1] : "";
  if (!verb.empty()) ocrtune::catch_interrupts();
  if (verb == "train") return ocrtune::run_cuda_rank(argv[3]);
  if (verb == "infer") return ocrtune::run_cuda_reader(argv[3]);
  if (verb == "fit") return ocrtune::run_cuda_fit(argv[3]);
  const auto order = ocrtune::parse_gpu_step(argc, argv);
  if (!order) {
    std::fputs(("ocrtune-cuda-core: " + order.error().what + "\n").c_str(), stderr);
    return 2;
  }
  return order->kind == "ready" ? ocrtune::ready_step(*order) : ocrtune::core_step(*order);
}

}  // namespace

int main(int argc, char** argv) {
  const int code = run(argc, argv);
  std::fflush(stdout);
  std::_Exit(code);  // the runtime's own shutdown may hang on a sick GPU
}
