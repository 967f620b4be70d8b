// The mean of gradients on GPUs: see trial/cuda/nccl_comm.h.
#include <string>

#include "trial/cuda/nccl_comm.h"

namespace ocrtune {

NcclComm::NcclComm(const RankPlace& place, const std::string& folder, const NcclLibrary& library,
                   cudaStream_t compute, int device)
    : place_(place), library_(library), rank_(order_, library_), compute_(compute) {
  order_.kind = "train";
  order_.rank = place.rank;
  order_.world = place.world_size;
  order_.folder = folder;
  order_.device = device;
}

NcclComm::~NcclComm() {
  if (ready_ != nullptr) cudaEventDestroy(ready_);
  if (moved_ != nullptr) cudaEventDestroy(moved_);
}

Result<std::unique_ptr<Comm>> NcclComm::open(const RankPlace& place, const std::string& folder,
                                             const std::string& nccl_folder, cudaStream_t compute,
                                             int device) {
  const auto library = open_nccl(nccl_folder);
  if (!library) return library.error();
  std::unique_ptr<NcclComm> comm(new NcclComm(place, folder, *library, compute, device));
  OCRTUNE_TRY(comm->create_events());
  OCRTUNE_TRY(comm->rank_.open("gradients"));
  return std::unique_ptr<Comm>(std::move(comm));
}

Status NcclComm::create_events() {
  OCRTUNE_CUDA(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
  OCRTUNE_CUDA(cudaEventCreateWithFlags(&moved_, cudaEventDisableTiming));
  return Status();
}

Result<std::span<float>> NcclComm::gradient_buffer(std::size_t count) {
  OCRTUNE_TRY(gradients_.allocate(order_.device, count * sizeof(float)));
  // On the stream that will write them: no other stream waits for a plain memset.
  OCRTUNE_CUDA(cudaMemsetAsync(gradients_.as<void>(), 0, count * sizeof(float), compute_));
  return std::span<float>(gradients_.as<float>(), count);
}

Status NcclComm::start_mean(std::size_t first, std::size_t count) {
  OCRTUNE_CUDA(cudaEventRecord(ready_, compute_));
  OCRTUNE_CUDA(cudaStreamWaitEvent(rank_.stream(), ready_, 0));
  float* part = gradients_.as<float>() + first;
  return rank_.enqueue("the gradients' mean", [&](ncclComm_t comm) {
    return library_.all_reduce(part, part, count, ncclFloat32, ncclAvg, comm, rank_.stream());
  });
}

Status NcclComm::finish_means(double* wait_seconds) {
  if (wait_seconds != nullptr) *wait_seconds = 0;
  OCRTUNE_CUDA(cudaEventRecord(moved_, rank_.stream()));
  OCRTUNE_CUDA(cudaStreamWaitEvent(compute_, moved_, 0));
  return Status();
}

Status NcclComm::all_reduce_mean(std::size_t first, std::size_t count, double* wait_seconds) {
  OCRTUNE_TRY(start_mean(first, count));
  return finish_means(wait_seconds);
}

Status NcclComm::barrier() {
  return order_.rendezvous().meet("barrier." + std::to_string(barriers_++));
}

}  // namespace ocrtune
