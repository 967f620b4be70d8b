// Training as a trial's rank on a GPU: see trial/cuda/cuda_rank.h.
#include <cstdio>

// nvcc hands pointers to members on with parentheses that the host's compiler finds unnecessary.
#pragma GCC diagnostic ignored "-Wparentheses"

#include "trial/cuda/cuda_device.h"
#include "trial/cuda/cuda_rank.h"
#include "trial/ipc/event_writer.h"
#include "trial/cuda/nccl_comm.h"
#include "trial/workloads/engine_train/worker.h"
#include "trial/workloads/engine_train/worker_device.h"
#include "core/gpu/cuda/cuda_trainer.h"
#include "core/gpu/device_footprint.h"

namespace ocrtune {
namespace {

class GpuRank final : public WorkerDevice {
 public:
  explicit GpuRank(const WorkerSpec& spec) : spec_(spec) {}

  Status open(HelloEvent& hello) override {
    auto device = CudaDevice::open(spec_.precision, spec_.gpu);
    if (!device) return device.error();
    device_ = std::make_unique<CudaDevice>(std::move(*device));
    hello.gpu = device_->uuid();
    hello.versions["gpu"] = device_->name();
    int runtime = 0;
    cudaRuntimeGetVersion(&runtime);
    hello.versions["cuda"] =
        std::to_string(runtime / 1000) + "." + std::to_string(runtime % 1000 / 10);
    hello.versions["cudnn"] = std::to_string(cudnnGetVersion());
    return Status();
  }

  Result<std::unique_ptr<Comm>> make_comm() override {
    return NcclComm::open(spec_.place, spec_.segment, OCRTUNE_NCCL_FOLDER,
                          device_->executor().stream());
  }

  Result<std::unique_ptr<Trainer>> make_trainer(const TrainerOptions& options,
                                                Comm& comm) override {
    return make_cuda_trainer(options, device_->executor(), comm);
  }

  std::optional<MemoryEvent> memory() override {
    const auto use = device_->memory();
    if (!use) return std::nullopt;
    return MemoryEvent{spec_.place.rank, use->bytes, use->total_bytes, use->source};
  }

 private:
  const WorkerSpec& spec_;
  std::unique_ptr<CudaDevice> device_;
};

}  // namespace

int run_cuda_rank(const std::string& spec_text) {
  const auto spec = parse_spec(spec_text);
  if (!spec) {
    std::fputs(("ocrtune-cuda-core: " + spec.error().what + "\n").c_str(), stderr);
    return 2;
  }
  GpuRank device(*spec);
  const auto events = EventWriter::from_environment();
  if (!events) return 2;
  return run_worker_on(*spec, device, events->descriptor()) ? 0 : 1;
}

}  // namespace ocrtune
