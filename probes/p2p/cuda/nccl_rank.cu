// One rank of an NCCL job that can always be stopped: see probes/p2p/cuda/nccl_rank.h.
#include <cstring>

#include "base/clock.h"
#include "probes/p2p/cuda/nccl_rank.h"

namespace ocrtune {
namespace {

constexpr double kInitSeconds = 60;  // contexts without persistence mode are slow to come
constexpr double kEnqueueSeconds = 20;

}  // namespace

Status NcclRank::check(ncclResult_t code, const char* what) const {
  if (code == ncclSuccess || code == ncclInProgress) return Status();
  return Error{ErrorKind::failed, std::string(what) + ": " + library_.error_text(code)};
}

Status NcclRank::settle(const char* what, double seconds) {
  const double start = steady_clock().now_seconds();
  while (true) {
    ncclResult_t state = ncclSuccess;
    OCRTUNE_TRY(check(library_.async_error(comm_, &state), what));
    if (state == ncclSuccess) return Status();
    OCRTUNE_TRY(check(state, what));
    const double waited = steady_clock().now_seconds() - start;
    if (waited > seconds) {
      return Error{ErrorKind::interrupted, std::string(what) + ": not done within " +
                                               std::to_string(static_cast<int>(seconds)) + " s"};
    }
    // NCCL from 2.28 on launches each call from a thread of its own, which takes less time than the
    // shortest sleep; a step has many of them.
    if (waited > 1e-3) steady_clock().sleep_seconds(1e-4);
  }
}

Status NcclRank::open(const std::string& name) {
  Rendezvous others = order_.rendezvous();
  OCRTUNE_CUDA(cudaSetDevice(device()));
  ncclUniqueId id;
  if (order_.rank == 0) {
    OCRTUNE_TRY(check(library_.get_unique_id(&id), "ncclGetUniqueId"));
    OCRTUNE_TRY(others.publish("id." + name, std::string(id.internal, sizeof(id.internal))));
  } else {
    const auto bytes = others.fetch("id." + name);
    if (!bytes) return bytes.error();
    if (bytes->size() != sizeof(id.internal)) {
      return Error{ErrorKind::failed, "NCCL's id was cut short"};
    }
    std::memcpy(id.internal, bytes->data(), sizeof(id.internal));
  }
  if (stream_ == nullptr) {
    OCRTUNE_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  OCRTUNE_TRY(
      check(library_.init_rank(&comm_, order_.world, id, order_.rank, &config), "NCCL's init"));
  return settle("NCCL's init", kInitSeconds);
}

Status NcclRank::enqueue(const char* what, const std::function<ncclResult_t(ncclComm_t)>& call) {
  OCRTUNE_TRY(check(call(comm_), what));
  return settle(what, kEnqueueSeconds);
}

Status NcclRank::wait(const char* what, double seconds) {
  const double start = steady_clock().now_seconds();
  while (true) {
    const cudaError_t state = cudaStreamQuery(stream_);
    if (state == cudaSuccess) return Status();
    if (state != cudaErrorNotReady) return cuda_status(state, what);
    ncclResult_t asynchronous = ncclSuccess;
    OCRTUNE_TRY(check(library_.async_error(comm_, &asynchronous), what));
    OCRTUNE_TRY(check(asynchronous, what));
    const double waited = steady_clock().now_seconds() - start;
    if (waited > seconds) {
      return Error{ErrorKind::interrupted, std::string(what) + ": not done within " +
                                               std::to_string(static_cast<int>(seconds)) + " s"};
    }
    if (waited > 1e-3) steady_clock().sleep_seconds(1e-4);
  }
}

Status NcclRank::close() {
  OCRTUNE_TRY(check(library_.finalize(comm_), "NCCL's end"));
  OCRTUNE_TRY(settle("NCCL's end", kEnqueueSeconds));
  OCRTUNE_TRY(check(library_.destroy(comm_), "NCCL's end"));
  comm_ = nullptr;
  return Status();
}

void NcclRank::abort() {
  if (comm_ != nullptr) library_.abort(comm_);
  comm_ = nullptr;
}

}  // namespace ocrtune
