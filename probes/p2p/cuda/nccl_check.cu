// Collectives whose results are known to the last bit: see probes/p2p/cuda/nccl_check.h.
//
// Sums are of small whole numbers, exact in every type and order. All results are checked on the
// GPU by a kernel of their owner.
#include <cuda_fp16.h>

#include <algorithm>

#include "probes/p2p/cuda/nccl_check.h"
#include "probes/p2p/steps/test_pattern.h"

namespace ocrtune {
namespace {

// Across the sizes at which NCCL changes its protocol: LL, LL128, Simple.
constexpr std::size_t kSizes[] = {8, 1 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20};
constexpr double kWaitSeconds = 20;

struct CheckErrors {
  unsigned long long bad = 0, first = ~0ULL;
};

// 0 to 15: the sum over 128 ranks still fits a half.
__device__ int small_number(std::uint32_t seed, int rank, std::size_t index) {
  return static_cast<int>(pattern_word(seed, static_cast<std::uint32_t>(rank), index) & 15U);
}

__device__ std::size_t first_index() {
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ std::size_t index_step() { return static_cast<std::size_t>(gridDim.x) * blockDim.x; }

__device__ void note(CheckErrors* errors, std::size_t index) {
  atomicAdd(&errors->bad, 1ULL);
  atomicMin(&errors->first, static_cast<unsigned long long>(index));
}

template <typename T>
__global__ void fill_numbers(T* to, std::size_t count, std::uint32_t seed, int rank) {
  for (std::size_t i = first_index(); i < count; i += index_step()) {
    to[i] = static_cast<T>(small_number(seed, rank, i));
  }
}

template <typename T>
__global__ void check_sums(const T* from, std::size_t count, std::uint32_t seed, int world,
                           CheckErrors* errors) {
  for (std::size_t i = first_index(); i < count; i += index_step()) {
    int sum = 0;
    for (int rank = 0; rank < world; ++rank) sum += small_number(seed, rank, i);
    if (static_cast<float>(from[i]) != static_cast<float>(sum)) note(errors, i);
  }
}

__global__ void fill_words(std::uint32_t* to, std::size_t words, std::uint32_t seed, int source) {
  for (std::size_t i = first_index(); i < words; i += index_step()) {
    to[i] = pattern_word(seed, static_cast<std::uint32_t>(source), i);
  }
}

__global__ void check_words(const std::uint32_t* from, std::size_t words, std::uint32_t seed,
                            int source, CheckErrors* errors) {
  for (std::size_t i = first_index(); i < words; i += index_step()) {
    if (from[i] != pattern_word(seed, static_cast<std::uint32_t>(source), i)) note(errors, i);
  }
}

constexpr int kBlocks = 256, kThreads = 256;

}  // namespace

Status NcclCheck::open(std::size_t max_bytes) {
  max_bytes_ = max_bytes;
  OCRTUNE_TRY(input_.allocate(rank_.device(), max_bytes));
  OCRTUNE_TRY(output_.allocate(rank_.device(), max_bytes));
  return errors_.allocate(rank_.device(), sizeof(CheckErrors));
}

// Waits, then reads what the check kernel has counted.
Status NcclCheck::finish(const std::string& what) {
  OCRTUNE_TRY(rank_.wait(what.c_str(), kWaitSeconds));
  CheckErrors errors;
  OCRTUNE_CUDA(cudaMemcpyAsync(&errors, errors_.as<void>(), sizeof(errors), cudaMemcpyDeviceToHost,
                               rank_.stream()));
  OCRTUNE_TRY(rank_.wait(what.c_str(), kWaitSeconds));
  if (errors.bad == 0) return Status();
  return Error{ErrorKind::invalid, what + ": " + std::to_string(errors.bad) +
                                       " wrong values, the first at " +
                                       std::to_string(errors.first)};
}

template <typename T>
Status NcclCheck::all_reduce(const char* name, ncclDataType_t type, std::size_t count,
                             bool in_place, std::uint32_t seed) {
  const std::string what = std::string("all-reduce of ") + std::to_string(count * sizeof(T)) +
                           " bytes, " + name + (in_place ? ", in place" : "");
  const CheckErrors empty;
  OCRTUNE_CUDA(cudaMemcpyAsync(errors_.as<void>(), &empty, sizeof(empty), cudaMemcpyHostToDevice,
                               rank_.stream()));
  T* input = input_.as<T>();
  T* output = in_place ? input : output_.as<T>();
  if (!in_place) {
    OCRTUNE_CUDA(cudaMemsetAsync(output, 0xA5, count * sizeof(T), rank_.stream()));
  }
  fill_numbers<<<kBlocks, kThreads, 0, rank_.stream()>>>(input, count, seed, rank_.rank());
  OCRTUNE_CUDA(cudaGetLastError());
  OCRTUNE_TRY(rank_.enqueue(what.c_str(), [&](ncclComm_t comm) {
    return rank_.library().all_reduce(input, output, count, type, ncclSum, comm, rank_.stream());
  }));
  check_sums<<<kBlocks, kThreads, 0, rank_.stream()>>>(output, count, seed, rank_.world(),
                                                       errors_.as<CheckErrors>());
  OCRTUNE_CUDA(cudaGetLastError());
  return finish(what);
}

// Every rank's `words` behind one another.
Status NcclCheck::all_gather(std::size_t words, std::uint32_t seed) {
  const std::string what = "all-gather of " + std::to_string(words * 4) + " bytes";
  const CheckErrors empty;
  OCRTUNE_CUDA(cudaMemcpyAsync(errors_.as<void>(), &empty, sizeof(empty), cudaMemcpyHostToDevice,
                               rank_.stream()));
  auto* input = input_.as<std::uint32_t>();
  auto* output = output_.as<std::uint32_t>();
  const auto world = static_cast<std::size_t>(rank_.world());
  OCRTUNE_CUDA(cudaMemsetAsync(output, 0xA5, words * world * 4, rank_.stream()));
  fill_words<<<kBlocks, kThreads, 0, rank_.stream()>>>(input, words, seed, rank_.rank());
  OCRTUNE_CUDA(cudaGetLastError());
  OCRTUNE_TRY(rank_.enqueue(what.c_str(), [&](ncclComm_t comm) {
    return rank_.library().all_gather(input, output, words, ncclUint32, comm, rank_.stream());
  }));
  for (std::size_t source = 0; source < world; ++source) {
    check_words<<<kBlocks, kThreads, 0, rank_.stream()>>>(
        output + source * words, words, seed, static_cast<int>(source), errors_.as<CheckErrors>());
    OCRTUNE_CUDA(cudaGetLastError());
  }
  return finish(what);
}

Status NcclCheck::broadcast(std::size_t words, std::uint32_t seed) {
  const std::string what = "broadcast of " + std::to_string(words * 4) + " bytes";
  const CheckErrors empty;
  OCRTUNE_CUDA(cudaMemcpyAsync(errors_.as<void>(), &empty, sizeof(empty), cudaMemcpyHostToDevice,
                               rank_.stream()));
  const int root = rank_.world() - 1;
  auto* input = input_.as<std::uint32_t>();
  auto* output = output_.as<std::uint32_t>();
  OCRTUNE_CUDA(cudaMemsetAsync(output, 0xA5, words * 4, rank_.stream()));
  fill_words<<<kBlocks, kThreads, 0, rank_.stream()>>>(input, words, seed, rank_.rank());
  OCRTUNE_CUDA(cudaGetLastError());
  OCRTUNE_TRY(rank_.enqueue(what.c_str(), [&](ncclComm_t comm) {
    return rank_.library().broadcast(input, output, words, ncclUint32, root, comm, rank_.stream());
  }));
  check_words<<<kBlocks, kThreads, 0, rank_.stream()>>>(output, words, seed, root,
                                                        errors_.as<CheckErrors>());
  OCRTUNE_CUDA(cudaGetLastError());
  return finish(what);
}

// To the next rank, from the one before.
Status NcclCheck::send_around(std::size_t words, std::uint32_t seed) {
  const std::string what = "send and receive of " + std::to_string(words * 4) + " bytes";
  const CheckErrors empty;
  OCRTUNE_CUDA(cudaMemcpyAsync(errors_.as<void>(), &empty, sizeof(empty), cudaMemcpyHostToDevice,
                               rank_.stream()));
  const int next = (rank_.rank() + 1) % rank_.world();
  const int before = (rank_.rank() + rank_.world() - 1) % rank_.world();
  auto* input = input_.as<std::uint32_t>();
  auto* output = output_.as<std::uint32_t>();
  OCRTUNE_CUDA(cudaMemsetAsync(output, 0xA5, words * 4, rank_.stream()));
  fill_words<<<kBlocks, kThreads, 0, rank_.stream()>>>(input, words, seed, rank_.rank());
  OCRTUNE_CUDA(cudaGetLastError());
  OCRTUNE_TRY(rank_.enqueue(what.c_str(), [&](ncclComm_t comm) {
    const NcclLibrary& nccl = rank_.library();
    ncclResult_t code = nccl.group_start();
    if (code != ncclSuccess) return code;
    const ncclResult_t sent = nccl.send(input, words, ncclUint32, next, comm, rank_.stream());
    const ncclResult_t got = nccl.receive(output, words, ncclUint32, before, comm, rank_.stream());
    code = nccl.group_end();
    const auto fine = [](ncclResult_t one) { return one == ncclSuccess || one == ncclInProgress; };
    return !fine(sent) ? sent : !fine(got) ? got : code;
  }));
  check_words<<<kBlocks, kThreads, 0, rank_.stream()>>>(output, words, seed, before,
                                                        errors_.as<CheckErrors>());
  OCRTUNE_CUDA(cudaGetLastError());
  return finish(what);
}

Status NcclCheck::run(std::uint32_t seed) {
  const auto world = static_cast<std::size_t>(rank_.world());
  for (const std::size_t wanted : kSizes) {
    const std::size_t bytes = std::min(wanted, max_bytes_);
    for (const bool in_place : {false, true}) {
      OCRTUNE_TRY(all_reduce<int>("int32", ncclInt32, bytes / 4, in_place, ++seed));
      OCRTUNE_TRY(all_reduce<float>("fp32", ncclFloat32, bytes / 4, in_place, ++seed));
      OCRTUNE_TRY(all_reduce<__half>("fp16", ncclFloat16, bytes / 2, in_place, ++seed));
    }
    OCRTUNE_TRY(all_gather(std::max<std::size_t>(1, bytes / 4 / world), ++seed));
    OCRTUNE_TRY(broadcast(bytes / 4, ++seed));
    if (world > 1) OCRTUNE_TRY(send_around(bytes / 4, ++seed));
  }
  return Status();
}

}  // namespace ocrtune
