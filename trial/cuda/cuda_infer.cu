// Reading lines on a GPU: see trial/cuda/cuda_infer.h.
#include <cstdio>

#include "trial/cuda/cuda_device.h"
#include "trial/cuda/cuda_infer.h"
#include "trial/workloads/engine_infer/infer_device.h"
#include "trial/workloads/engine_infer/infer_worker.h"
#include "core/gpu/cuda/cuda_reader.h"

namespace ocrtune {
namespace {

class GpuInfer final : public InferDevice {
 public:
  explicit GpuInfer(const InferSpec& spec) : spec_(spec) {}

  Status open() override {
    auto device = CudaDevice::open(spec_.recognizer.precision, spec_.gpu);
    if (!device) return device.error();
    device_ = std::make_unique<CudaDevice>(std::move(*device));
    reader_ = make_cuda_reader(device_->executor());
    return Status();
  }
  LogitMaker& maker() override { return *reader_; }
  GpuPlace place() override {
    const auto use = device_->memory();
    if (!use) return {device_->uuid(), 0, use.error().what};
    return {device_->uuid(), use->bytes, use->source};
  }

 private:
  const InferSpec& spec_;
  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<LogitMaker> reader_;
};

}  // namespace

int run_cuda_reader(const std::string& spec_text) {
  const auto spec = parse_infer_spec(spec_text);
  if (!spec) {
    std::fputs(("ocrtune-cuda-core: " + spec.error().what + "\n").c_str(), stderr);
    return 2;
  }
  GpuInfer device(*spec);
  return run_infer_worker_on(*spec, device) ? 0 : 1;
}

}  // namespace ocrtune
