// Training to a step on a GPU: see trial/cuda/cuda_fit.h.
#include <unistd.h>

#include <cstdio>

// nvcc hands pointers to members on with parentheses that the host's compiler finds unnecessary.
#pragma GCC diagnostic ignored "-Wparentheses"

#include "trial/cuda/cuda_device.h"
#include "trial/cuda/cuda_fit.h"
#include "trial/workloads/engine_train/fit_process.h"
#include "trial/cuda/nccl_comm.h"
#include "core/gpu/cuda/cuda_trainer.h"

namespace ocrtune {
namespace {

class GpuFit final : public FitDevice {
 public:
  explicit GpuFit(const FitSpec& spec) : spec_(spec) {}
  Status open() override {
    auto device = CudaDevice::open(spec_.run.trainer.precision, spec_.gpu);
    if (!device) return device.error();
    device_ = std::make_unique<CudaDevice>(std::move(*device));
    return Status();
  }
  Result<std::unique_ptr<Comm>> make_comm() override {
    return NcclComm::open(spec_.run.place, spec_.folder, OCRTUNE_NCCL_FOLDER,
                          device_->executor().stream());
  }
  Result<std::unique_ptr<Trainer>> make_trainer(const TrainerOptions& options,
                                                Comm& comm) override {
    return make_cuda_trainer(options, device_->executor(), comm);
  }

 private:
  const FitSpec& spec_;
  std::unique_ptr<CudaDevice> device_;
};

}  // namespace

int run_cuda_fit(const std::string& spec_text) {
  const auto spec = parse_fit_spec(spec_text);
  if (!spec) {
    std::fputs(("ocrtune-cuda-core: " + spec.error().what + "\n").c_str(), stderr);
    return 2;
  }
  GpuFit device(*spec);
  return run_fit_on(*spec, device, STDOUT_FILENO) ? 0 : 1;
}

}  // namespace ocrtune
