// T3: the bounded handshake (probes/p2p/steps/handshake.h) on two GPUs, from one process or from two that
// share memory as training does.
#include <cuda_runtime.h>

#include <array>
#include <cstring>

#include "probes/p2p/cuda/cuda_call.h"
#include "probes/p2p/cuda/cuda_steps.h"
#include "probes/p2p/steps/handshake.h"

namespace ocrtune {
namespace {

constexpr int kRounds = 2000;
constexpr std::uint64_t kLimitNanoseconds = 1500000000;  // display watchdogs cut in at 2 s
// CUDA shares whole blocks of 2 MiB between processes: nothing else may lie in ours.
constexpr std::size_t kSharedBytes = std::size_t{2} << 20;
static_assert(sizeof(Mailbox) <= kSharedBytes);
constexpr double kWaitSeconds = 15;  // for a kernel that ends after 1.5 s

// One block of threads as a Lane.
struct BlockLane {
  bool* flag;
  unsigned long long start_clock;
  long long spins;

  __device__ int index() const { return static_cast<int>(threadIdx.x); }
  __device__ int count() const { return static_cast<int>(blockDim.x); }
  __device__ void store(std::uint32_t* to, std::uint32_t value) const {
    *reinterpret_cast<volatile std::uint32_t*>(to) = value;
  }
  __device__ std::uint32_t load(const std::uint32_t* from) const {
    return *reinterpret_cast<const volatile std::uint32_t*>(from);
  }
  __device__ void fence() const { __threadfence_system(); }
  __device__ void sync() const { __syncthreads(); }
  __device__ std::uint64_t now() const {
    unsigned long long time = 0;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
  }
  // A second bound, for a global timer that stands still: about 20 s of spinning.
  __device__ bool may_spin() { return ++spins < (1LL << 25); }
  __device__ void share(bool value) { *flag = value; }
  __device__ bool shared() const { return *flag; }
  __device__ std::uint32_t add(std::uint32_t* counter) const { return atomicAdd(counter, 1U); }
};

__global__ void handshake_kernel(Mailbox* mine, Mailbox* peer, HandshakeRules plan,
                                 HandshakeResult* result) {
  __shared__ bool flag;
  BlockLane lane{&flag, 0, 0};
  shake_hands(lane, mine, peer, plan, result);
}

// This side of the handshake: a mailbox and a result on one device.
struct Side {
  int device = 0;
  DeviceMemory mailbox, result;
  cudaStream_t stream = nullptr;

  Status open(int on) {
    device = on;
    OCRTUNE_TRY(mailbox.allocate(on, kSharedBytes));
    OCRTUNE_TRY(result.allocate(on, sizeof(HandshakeResult)));
    OCRTUNE_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return Status();
  }

  Status clear() {
    const HandshakeResult empty;
    OCRTUNE_CUDA(cudaSetDevice(device));
    OCRTUNE_CUDA(cudaMemsetAsync(mailbox.as<void>(), 0, sizeof(Mailbox), stream));
    OCRTUNE_CUDA(
        cudaMemcpyAsync(result.as<void>(), &empty, sizeof(empty), cudaMemcpyHostToDevice, stream));
    return await_stream(stream, kWaitSeconds, "clearing");
  }

  Status launch(Mailbox* peer, int side, int rounds) {
    OCRTUNE_CUDA(cudaSetDevice(device));
    const HandshakeRules plan{7777, side, rounds, kLimitNanoseconds};
    handshake_kernel<<<1, 128, 0, stream>>>(mailbox.as<Mailbox>(), peer, plan,
                                            result.as<HandshakeResult>());
    OCRTUNE_CUDA(cudaGetLastError());
    return Status();
  }

  Result<HandshakeResult> finish() {
    OCRTUNE_CUDA(cudaSetDevice(device));
    OCRTUNE_TRY(await_stream(stream, kWaitSeconds, "the handshake kernel"));
    HandshakeResult out;
    OCRTUNE_CUDA(
        cudaMemcpyAsync(&out, result.as<void>(), sizeof(out), cudaMemcpyDeviceToHost, stream));
    OCRTUNE_TRY(await_stream(stream, kWaitSeconds, "the handshake's result"));
    return out;
  }
};

// What `receiver` saw of the way from the other side to itself.
void say_direction(const GpuStepOrder& order, int receiver, const HandshakeResult& result) {
  const bool wrong = result.bad_words > 0;
  const bool late = result.timed_out != 0;
  GpuFinding finding = order.finding("handshake", wrong ? "wrong_data" : late ? "hung" : "passed");
  finding.from = 1 - receiver;
  finding.to = receiver;
  if (wrong) {
    finding.detail =
        "the flag came and the payload did not: round " + std::to_string(result.first_bad_round) +
        ", word " + std::to_string(result.bad_index) + (result.got == 0 ? " is zero" : " is wrong");
  } else if (late) {
    finding.detail = "no flag in round " + std::to_string(result.rounds_done) +
                     "; the kernels ended by themselves";
  } else if (result.rounds_done > 0) {
    finding.figures["round_trip_seconds"] =
        2e-9 * static_cast<double>(result.nanoseconds) / result.rounds_done;
  }
  say(finding);
}

Status in_one_process(const GpuStepOrder& order) {
  Side* const sides = never_freed<std::array<Side, 2>>().data();
  for (int side = 0; side < 2; ++side) {
    OCRTUNE_CUDA(cudaSetDevice(side));
    OCRTUNE_CUDA(cudaDeviceEnablePeerAccess(1 - side, 0));
    OCRTUNE_TRY(sides[side].open(side));
    OCRTUNE_TRY(sides[side].clear());
  }
  for (const int rounds : {0, kRounds}) {  // the first loads the code: a loader must not wait later
    for (int side = 0; side < 2; ++side) {
      OCRTUNE_TRY(sides[side].launch(sides[1 - side].mailbox.as<Mailbox>(), side, rounds));
    }
    for (int side = 0; side < 2; ++side) {
      const auto result = sides[side].finish();
      if (!result) return result.error();
      if (rounds > 0) say_direction(order, side, *result);
    }
  }
  return Status();
}

Status in_two_processes(const GpuStepOrder& order) {
  Rendezvous others = order.rendezvous();
  Side& side = never_freed<Side>();
  OCRTUNE_TRY(side.open(order.rank));
  OCRTUNE_TRY(side.clear());
  cudaIpcMemHandle_t handle;
  if (cudaIpcGetMemHandle(&handle, side.mailbox.as<void>()) != cudaSuccess) {
    return Error{ErrorKind::unsupported, "CUDA does not share memory between processes here"};
  }
  OCRTUNE_TRY(others.publish("handle." + std::to_string(order.rank),
                             std::string(reinterpret_cast<const char*>(&handle), sizeof(handle))));
  const auto theirs = others.fetch("handle." + std::to_string(1 - order.rank));
  if (!theirs) return theirs.error();
  if (theirs->size() != sizeof(handle)) return Error{ErrorKind::failed, "a handle was cut short"};
  std::memcpy(&handle, theirs->data(), sizeof(handle));
  OCRTUNE_CUDA(cudaSetDevice(order.rank));
  void* peer = nullptr;
  const cudaError_t opened = cudaIpcOpenMemHandle(&peer, handle, cudaIpcMemLazyEnablePeerAccess);
  // Containers and virtual machines may allow peer access and no memory shared between processes.
  if (opened == cudaErrorNotSupported || opened == cudaErrorPeerAccessUnsupported) {
    return Error{ErrorKind::unsupported, std::string("CUDA opens no memory of another process: ") +
                                             cudaGetErrorString(opened)};
  }
  OCRTUNE_CUDA(opened);
  OCRTUNE_TRY(side.launch(static_cast<Mailbox*>(peer), order.rank, 0));
  const auto warm = side.finish();
  if (!warm) return warm.error();
  OCRTUNE_TRY(others.meet("start"));
  OCRTUNE_TRY(side.launch(static_cast<Mailbox*>(peer), order.rank, kRounds));
  const auto result = side.finish();
  if (!result) return result.error();
  say_direction(order, order.rank, *result);
  OCRTUNE_TRY(others.meet("end"));  // nobody frees what the other may still write to
  OCRTUNE_CUDA(cudaIpcCloseMemHandle(peer));
  return others.meet("closed");
}

}  // namespace

int handshake_step(const GpuStepOrder& order) {
  const Status done = order.world == 1 ? in_one_process(order) : in_two_processes(order);
  if (!done) return say_end(order, outcome_of(done.error()), done.error().what);
  return say_end(order, "passed", "");
}

}  // namespace ocrtune
