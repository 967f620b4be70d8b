// T2: bytes from one GPU to another in three ways - copy engine, stores by a kernel of the sender,
// loads by a kernel of the receiver - checked from the owner's side. Targets hold a canary before,
// every try has a new pattern, and the largest buffer reaches beyond the 256 MiB windows at which
// some links break.
#include <cuda_runtime.h>

#include <algorithm>

#include "base/clock.h"
#include "probes/p2p/cuda/cuda_call.h"
#include "probes/p2p/cuda/cuda_steps.h"
#include "probes/p2p/steps/test_pattern.h"

namespace ocrtune {
namespace {

constexpr std::size_t kSizes[] = {
    8, 4096, 65540, std::size_t{1} << 20, std::size_t{64} << 20, (std::size_t{512} << 20) + 4096};
constexpr std::size_t kChunk = std::size_t{32} << 20;  // bytes read back at a time
constexpr double kWaitSeconds = 20;
constexpr int kTimedCopies = 5;

__global__ void write_pattern(std::uint32_t* to, std::size_t words, std::uint32_t seed,
                              std::uint32_t source) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words;
       i += step) {
    to[i] = pattern_word(seed, source, i);
  }
}

__global__ void copy_words(const std::uint32_t* from, std::uint32_t* to, std::size_t words) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words;
       i += step) {
    to[i] = from[i];
  }
}

enum class Way { copy_engine, stores, loads };
constexpr Way kWays[] = {Way::copy_engine, Way::stores, Way::loads};

const char* way_name(Way way) {
  switch (way) {
    case Way::copy_engine:
      return "copy engine";
    case Way::stores:
      return "stores by the sender";
    case Way::loads:
      return "loads by the receiver";
  }
  return "";
}

// Host memory that the copy engines may reach.
class HostMemory {
 public:
  HostMemory() = default;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory() {
    if (start_ != nullptr) cudaFreeHost(start_);
  }
  Status allocate(std::size_t bytes) {
    OCRTUNE_CUDA(cudaMallocHost(&start_, bytes));
    return Status();
  }
  std::uint32_t* words() const { return static_cast<std::uint32_t*>(start_); }

 private:
  void* start_ = nullptr;
};

// Two devices with peer access both ways, a buffer on each, and a stream on each.
class Pair {
 public:
  Status open() {
    int count = 0;
    OCRTUNE_CUDA(cudaGetDeviceCount(&count));
    if (count != 2) return Error{ErrorKind::failed, "a copy step needs two visible GPUs"};
    std::size_t room = kSizes[std::size(kSizes) - 1];
    for (int device = 0; device < 2; ++device) {
      OCRTUNE_CUDA(cudaSetDevice(device));
      OCRTUNE_CUDA(cudaDeviceEnablePeerAccess(1 - device, 0));
      OCRTUNE_CUDA(cudaStreamCreateWithFlags(&streams_[device], cudaStreamNonBlocking));
      std::size_t free = 0;
      std::size_t total = 0;
      OCRTUNE_CUDA(cudaMemGetInfo(&free, &total));
      room = std::min(room, free / 4 / 4 * 4);
    }
    max_bytes_ = room;
    for (int device = 0; device < 2; ++device) {
      OCRTUNE_TRY(buffers_[device].allocate(device, max_bytes_));
    }
    return host_.allocate(kChunk);
  }

  // One direction: all ways and sizes. What goes wrong is an error of kind invalid.
  Status check_direction(int from, double* bytes_per_second) {
    for (const Way way : kWays) {
      for (const std::size_t size : kSizes) {
        const Status moved = try_once(from, way, std::min(size, max_bytes_));
        if (!moved) {
          return Error{moved.error().kind, std::string(way_name(way)) + ", " +
                                               std::to_string(size) +
                                               " bytes: " + moved.error().what};
        }
      }
    }
    return measure(from, bytes_per_second);
  }

 private:
  Status wait(int device, const char* what) {
    return await_stream(streams_[device], kWaitSeconds, what);
  }

  Status try_once(int from, Way way, std::size_t bytes) {
    const int to = 1 - from;
    const std::size_t words = bytes / 4;
    ++seed_;
    OCRTUNE_CUDA(cudaSetDevice(to));
    OCRTUNE_CUDA(cudaMemsetAsync(buffers_[to].as<void>(), 0xA5, bytes, streams_[to]));
    OCRTUNE_TRY(wait(to, "canary"));
    if (way != Way::stores)
      OCRTUNE_TRY(fill(from, buffers_[from].as<std::uint32_t>(), from, words));
    OCRTUNE_TRY(move(from, way, words));
    return check_owner(to, from, words);
  }

  // Words of `source`'s pattern, written by a kernel on `device`.
  Status fill(int device, std::uint32_t* target, int source, std::size_t words) {
    OCRTUNE_CUDA(cudaSetDevice(device));
    write_pattern<<<256, 256, 0, streams_[device]>>>(target, words, seed_,
                                                     static_cast<std::uint32_t>(source));
    OCRTUNE_CUDA(cudaGetLastError());
    return wait(device, "fill");
  }

  Status move(int from, Way way, std::size_t words) {
    const int to = 1 - from;
    auto* target = buffers_[to].as<std::uint32_t>();
    const auto* origin = buffers_[from].as<std::uint32_t>();
    if (way == Way::stores) return fill(from, target, from, words);
    if (way == Way::loads) {
      OCRTUNE_CUDA(cudaSetDevice(to));
      copy_words<<<256, 256, 0, streams_[to]>>>(origin, target, words);
      OCRTUNE_CUDA(cudaGetLastError());
      return wait(to, "load");
    }
    OCRTUNE_CUDA(cudaSetDevice(from));
    OCRTUNE_CUDA(cudaMemcpyPeerAsync(target, to, origin, from, words * 4, streams_[from]));
    return wait(from, "copy");
  }

  // The owner reads its own memory.
  Status check_owner(int owner, int source, std::size_t words) {
    PatternErrors errors;
    OCRTUNE_CUDA(cudaSetDevice(owner));
    for (std::size_t first = 0; first < words; first += kChunk / 4) {
      const std::size_t count = std::min(words - first, kChunk / 4);
      OCRTUNE_CUDA(cudaMemcpyAsync(host_.words(), buffers_[owner].as<std::uint32_t>() + first,
                                   count * 4, cudaMemcpyDeviceToHost, streams_[owner]));
      OCRTUNE_TRY(wait(owner, "read-back"));
      check_pattern({host_.words(), count}, first, {seed_, static_cast<std::uint32_t>(source)},
                    static_cast<std::uint32_t>(owner), errors);
    }
    return errors.bad == 0 ? Status() : Status(Error{ErrorKind::invalid, errors.text()});
  }

  Status measure(int from, double* bytes_per_second) {
    const std::size_t bytes = std::min(max_bytes_, std::size_t{256} << 20);
    OCRTUNE_CUDA(cudaSetDevice(from));
    double best = 1e30;
    for (int i = 0; i < kTimedCopies; ++i) {
      const double start = steady_clock().now_seconds();
      OCRTUNE_CUDA(cudaMemcpyPeerAsync(buffers_[1 - from].as<void>(), 1 - from,
                                       buffers_[from].as<void>(), from, bytes, streams_[from]));
      OCRTUNE_TRY(wait(from, "timed copy"));
      best = std::min(best, steady_clock().now_seconds() - start);
    }
    *bytes_per_second = static_cast<double>(bytes) / best;
    return Status();
  }

  DeviceMemory buffers_[2];
  HostMemory host_;
  cudaStream_t streams_[2] = {};
  std::size_t max_bytes_ = 0;
  std::uint32_t seed_ = 1000;
};

}  // namespace

int copy_step(const GpuStepOrder& order) {
  Pair& pair = never_freed<Pair>();
  const Status opened = pair.open();
  if (!opened) return say_end(order, outcome_of(opened.error()), opened.error().what);
  for (int from = 0; from < 2; ++from) {
    double rate = 0;
    const Status checked = pair.check_direction(from, &rate);
    GpuFinding finding = order.finding("copy", checked ? "passed" : outcome_of(checked.error()));
    finding.from = from;
    finding.to = 1 - from;
    if (!checked) finding.detail = checked.error().what;
    finding.figures["bytes_per_second"] = rate;
    say(finding);
    // After a hang or a CUDA error nothing on this device can be trusted; wrong data harms nobody.
    if (!checked && checked.error().kind != ErrorKind::invalid) break;
  }
  return say_end(order, "passed", "");
}

}  // namespace ocrtune
