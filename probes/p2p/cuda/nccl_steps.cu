// T1, T4, T5 and the sweep: NCCL in one process a GPU, checked to the last bit, then timed alone
// and under the load of a training step's backward pass.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/clock.h"
#include "base/stats.h"
#include "base/text.h"
#include "probes/p2p/cuda/cuda_steps.h"
#include "probes/p2p/cuda/nccl_check.h"

namespace ocrtune {
namespace {

constexpr double kWaitSeconds = 30;
constexpr std::size_t kCheckBytes = std::size_t{256} << 20;
constexpr int kTimed = 20, kWarm = 5;
constexpr int kNewCommunicators = 10;

// Work like a layer's: many short blocks, arithmetic on registers, memory read and written, so that
// channels that take multiprocessors away show up in its time.
__global__ void layer_work(float* memory, std::size_t floats, int rounds) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  std::size_t at = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  float a = 1.0F + static_cast<float>(threadIdx.x), b = 0.5F, c = 0.25F, d = 0.125F;
  for (int round = 0; round < rounds; ++round) {
    const float x = memory[at % floats];
    for (int i = 0; i < 64; ++i) {
      a = a * 0.999F + x;
      b = b * 0.998F + x;
      c = c * 0.997F + x;
      d = d * 0.996F + x;
    }
    memory[at % floats] = (a + b + c + d) * 1e-6F;
    at += step;
  }
}

// A training step in small: the backward pass in as many parts as there are buckets, and each
// bucket's all-reduce as soon as its part is done.
class StepLoad {
 public:
  StepLoad(NcclRank& rank, std::vector<std::size_t> buckets)
      : rank_(rank), buckets_(std::move(buckets)) {}
  StepLoad(const StepLoad&) = delete;
  StepLoad& operator=(const StepLoad&) = delete;

  Status open() {
    std::size_t bytes = 0;
    for (const std::size_t bucket : buckets_) bytes += bucket;
    OCRTUNE_TRY(gradients_.allocate(rank_.device(), bytes));
    OCRTUNE_TRY(memory_.allocate(rank_.device(), kWorkBytes));
    OCRTUNE_CUDA(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    // Not a plain memset: that returns before it is done, and these streams do not wait for it.
    OCRTUNE_CUDA(cudaMemsetAsync(gradients_.as<void>(), 0, bytes, compute_));
    OCRTUNE_CUDA(cudaMemsetAsync(memory_.as<void>(), 0, kWorkBytes, compute_));
    OCRTUNE_TRY(await_stream(compute_, kWaitSeconds, "clearing"));
    OCRTUNE_CUDA(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
    cudaDeviceProp properties{};
    OCRTUNE_CUDA(cudaGetDeviceProperties(&properties, rank_.device()));
    blocks_ = 16 * properties.multiProcessorCount;
    return Status();
  }

  // Rounds of a part's kernel so that all parts together take about `seconds`.
  Result<int> calibrate(double seconds) {
    int rounds = 8;
    OCRTUNE_TRY(step(rounds, true, false));
    const double start = steady_clock().now_seconds();
    for (int i = 0; i < 3; ++i) OCRTUNE_TRY(step(rounds, true, false));
    const double one = (steady_clock().now_seconds() - start) / 3;
    return std::max(1, static_cast<int>(std::lround(rounds * seconds / std::max(one, 1e-6))));
  }

  Status step(int rounds, bool compute, bool reduce) {
    std::size_t first = 0;
    for (const std::size_t bucket : buckets_) {
      if (compute) {
        layer_work<<<blocks_, 256, 0, compute_>>>(memory_.as<float>(), kWorkBytes / 4, rounds);
        OCRTUNE_CUDA(cudaGetLastError());
        OCRTUNE_CUDA(cudaEventRecord(ready_, compute_));
        OCRTUNE_CUDA(cudaStreamWaitEvent(rank_.stream(), ready_, 0));
      }
      float* start = gradients_.as<float>() + first / 4;
      if (reduce) {
        OCRTUNE_TRY(rank_.enqueue("all-reduce", [&](ncclComm_t comm) {
          return rank_.library().all_reduce(start, start, bucket / 4, ncclFloat32, ncclSum, comm,
                                            rank_.stream());
        }));
      }
      first += bucket;
    }
    if (compute) OCRTUNE_TRY(await_stream(compute_, kWaitSeconds, "compute"));
    return rank_.wait("all-reduce", kWaitSeconds);
  }

  // Seconds of each of `count` steps, after a few that do not count.
  Result<std::vector<double>> time(int count, int rounds, bool compute, bool reduce) {
    std::vector<double> seconds;
    for (int i = -kWarm; i < count; ++i) {
      const double start = steady_clock().now_seconds();
      OCRTUNE_TRY(step(rounds, compute, reduce));
      if (i >= 0) seconds.push_back(steady_clock().now_seconds() - start);
    }
    return seconds;
  }

  double bytes() const { return static_cast<double>(gradients_.bytes()); }

 private:
  static constexpr std::size_t kWorkBytes = std::size_t{128} << 20;
  NcclRank& rank_;
  std::vector<std::size_t> buckets_;
  DeviceMemory gradients_, memory_;
  cudaStream_t compute_ = nullptr;
  cudaEvent_t ready_ = nullptr;
  int blocks_ = 0;
};

std::vector<std::size_t> buckets_of(const GpuStepOrder& order) {
  std::vector<std::size_t> buckets;
  for (const std::string& entry : split(order.text("buckets"), ',')) {
    const auto bytes = parse_integer(entry);
    if (bytes && *bytes >= 4) buckets.push_back(static_cast<std::size_t>(*bytes) / 4 * 4);
  }
  if (buckets.empty()) buckets.push_back(std::size_t{25} << 20);
  return buckets;
}

// Bus bandwidth: what each link carries, comparable over numbers of ranks.
double bus_rate(double bytes, int world, double seconds) {
  return world < 2 ? bytes / seconds : 2.0 * (world - 1) / world * bytes / seconds;
}

Status check_and_time(const GpuStepOrder& order, NcclRank& rank, GpuFinding& finding) {
  NcclCheck& check = never_freed<NcclCheck>(rank);
  OCRTUNE_TRY(check.open(
      std::min(kCheckBytes, static_cast<std::size_t>(order.number("check_bytes", kCheckBytes)))));
  OCRTUNE_TRY(check.run(static_cast<std::uint32_t>(order.number("seed", 1)) * 1000));
  StepLoad& load = never_freed<StepLoad>(rank, buckets_of(order));
  OCRTUNE_TRY(load.open());
  const auto seconds = load.time(kTimed, 0, false, true);
  if (!seconds) return seconds.error();
  finding.figures["bytes_per_second"] = bus_rate(load.bytes(), rank.world(), median(*seconds));
  return Status();
}

// The same step with compute alone, all-reduce alone, and both: only the last is a training's.
Status sweep(const GpuStepOrder& order, NcclRank& rank, GpuFinding& finding) {
  NcclCheck& check = never_freed<NcclCheck>(rank);
  OCRTUNE_TRY(check.open(std::size_t{16} << 20));
  OCRTUNE_TRY(check.run(7000));
  StepLoad& load = never_freed<StepLoad>(rank, buckets_of(order));
  OCRTUNE_TRY(load.open());
  int rounds = static_cast<int>(order.number("work", 0));
  if (rounds <= 0) {
    const auto found = load.calibrate(order.number("compute_seconds", 0.1));
    if (!found) return found.error();
    rounds = *found;
  }
  const int steps = static_cast<int>(order.number("steps", 30));
  const auto compute = load.time(kTimed / 2, rounds, true, false);
  if (!compute) return compute.error();
  const auto reduce = load.time(kTimed / 2, rounds, false, true);
  if (!reduce) return reduce.error();
  const auto both = load.time(steps, rounds, true, true);
  if (!both) return both.error();
  finding.figures["work"] = rounds;
  finding.figures["compute_seconds"] = median(*compute);
  finding.figures["all_reduce_seconds"] = median(*reduce);
  finding.figures["step_seconds"] = median(*both);
  finding.figures["step_spread"] = median_absolute_deviation(*both);
  finding.figures["bytes_per_second"] = bus_rate(load.bytes(), rank.world(), median(*reduce));
  return Status();
}

// Collectives under load for the time asked for, then new communicators, then everything checked
// again: what hangs "after a while" hangs here.
Status soak(const GpuStepOrder& order, NcclRank& rank, GpuFinding& finding) {
  {
    StepLoad& load = never_freed<StepLoad>(rank, buckets_of(order));
    OCRTUNE_TRY(load.open());
    const auto rounds = load.calibrate(0.02);
    if (!rounds) return rounds.error();
    // Every rank takes the same number of steps: rank 0's clock decides, in blocks.
    Rendezvous others = order.rendezvous();
    const double start = steady_clock().now_seconds();
    for (int block = 0;; ++block) {
      const std::string name = "block." + std::to_string(block);
      if (rank.rank() == 0) {
        const bool more = steady_clock().now_seconds() - start < order.number("seconds", 60);
        OCRTUNE_TRY(others.publish(name, more ? "more" : "end"));
      }
      const auto word = others.fetch(name);
      if (!word) return word.error();
      if (*word == "end") break;
      for (int i = 0; i < 50; ++i) OCRTUNE_TRY(load.step(*rounds, true, true));
      finding.figures["steps"] += 50;
    }
  }
  for (int i = 0; i < kNewCommunicators; ++i) {
    OCRTUNE_TRY(rank.close());
    OCRTUNE_TRY(rank.open("soak" + std::to_string(i)));
  }
  NcclCheck& check = never_freed<NcclCheck>(rank);
  OCRTUNE_TRY(check.open(kCheckBytes));
  return check.run(9000);
}

Status run_kind(const GpuStepOrder& order, NcclRank& rank, GpuFinding& finding) {
  OCRTUNE_TRY(rank.open("first"));
  if (order.kind == "sweep") {
    OCRTUNE_TRY(sweep(order, rank, finding));
  } else if (order.kind == "soak") {
    OCRTUNE_TRY(soak(order, rank, finding));
  } else {
    OCRTUNE_TRY(check_and_time(order, rank, finding));
  }
  return rank.close();
}

}  // namespace

int nccl_step(const GpuStepOrder& order, const std::string& nccl_folder) {
  const auto library = open_nccl(nccl_folder);
  if (!library) return say_end(order, outcome_of(library.error()), library.error().what);
  NcclRank rank(order, *library);
  GpuFinding finding = order.finding(order.kind, "passed");
  const Status done = run_kind(order, rank, finding);
  if (!done) {
    finding.outcome = outcome_of(done.error());
    finding.detail = done.error().what;
  }
  say(finding);  // before an abort, which may hang
  if (!done) rank.abort();
  return say_end(order, "passed", "");
}

}  // namespace ocrtune
