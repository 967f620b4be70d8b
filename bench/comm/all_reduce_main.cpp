// Times the all-reduce of ranks that share one host: gradients in the segment against gradients
// that are copied in and out, interleaved. Usage: all_reduce_bench [RANKS [SECONDS]]
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/stats.h"
#include "base/text.h"
#include "core/comm/shm_comm.h"

namespace ocrtune {
namespace {

constexpr std::size_t kSizes[] = {64, 4096, 65'536, 1 << 20, 1'740'636, 20 << 20};

enum class Arm { in_place, rewritten, copied };
constexpr Arm kArms[] = {Arm::in_place, Arm::rewritten, Arm::copied};

void or_exit(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "%s\n", status.error().what.c_str());
  std::exit(1);
}

// Seconds for one all-reduce, from `repetitions` in a row; ranks start together. `rewritten` lets
// every rank write its gradients before each one, untimed, as training does: caches are then cold
// for the peers.
double time_round(Comm& comm, std::span<float> segment, std::vector<float>& own, Arm arm,
                  int repetitions) {
  const std::size_t bytes = own.size() * sizeof(float);
  double seconds = 0;
  or_exit(comm.barrier());
  double started = steady_clock().now_seconds();
  for (int i = 0; i < repetitions; ++i) {
    if (arm == Arm::rewritten) {
      std::fill(segment.begin(), segment.begin() + static_cast<std::ptrdiff_t>(own.size()), 1.0F);
      or_exit(comm.barrier());
      started = steady_clock().now_seconds();
    }
    if (arm == Arm::copied) std::memcpy(segment.data(), own.data(), bytes);
    or_exit(comm.all_reduce_mean(0, own.size(), nullptr));
    if (arm == Arm::copied) std::memcpy(own.data(), segment.data(), bytes);
    if (arm == Arm::rewritten) seconds += steady_clock().now_seconds() - started;
  }
  if (arm != Arm::rewritten) seconds = steady_clock().now_seconds() - started;
  return seconds / repetitions;
}

// seconds[arm][round] of one all-reduce.
std::vector<std::vector<double>> measure(Comm& comm, std::span<float> segment, std::size_t count,
                                         double seconds) {
  std::vector<float> own(count, 1.0F);
  // All ranks must agree on the repetitions, so they follow from the size alone.
  const int repetitions = static_cast<int>(std::clamp(2e7 / static_cast<double>(count), 3.0, 2e4));
  const double guess = 2e-7 + static_cast<double>(count) * sizeof(float) / 5e9;
  const int rounds = static_cast<int>(std::clamp(seconds / (guess * repetitions), 7.0, 1000.0));
  std::vector<std::vector<double>> measured(std::size(kArms));
  for (const Arm arm : kArms) (void)time_round(comm, segment, own, arm, repetitions);
  for (int round = 0; round < rounds; ++round) {
    for (const Arm arm : kArms) {
      measured[static_cast<std::size_t>(arm)].push_back(
          time_round(comm, segment, own, arm, repetitions));
    }
  }
  return measured;
}

void print_arm(const std::vector<double>& seconds, std::size_t bytes) {
  const double middle = median(seconds);
  std::printf(" | %8.2f %8.2f-%-8.2f %6.1f", middle * 1e6, quantile(seconds, 0.25) * 1e6,
              quantile(seconds, 0.75) * 1e6, static_cast<double>(bytes) / middle * 1e-9);
}

int run_rank(const std::string& segment, int rank, int world_size, double seconds) {
  ShmCommOptions options;
  options.segment = segment;
  options.place = RankPlace{rank, world_size, rank, world_size, 0, 1};
  auto comm = make_shm_comm(options);
  if (!comm) return std::fprintf(stderr, "%s\n", comm.error().what.c_str()), 1;
  auto buffer = (*comm)->gradient_buffer(kSizes[std::size(kSizes) - 1] / sizeof(float));
  if (!buffer) return std::fprintf(stderr, "%s\n", buffer.error().what.c_str()), 1;
  if (rank == 0) {
    std::printf("%d ranks    | %-34s | %-34s | %s\n     bytes", world_size, "in place",
                "in place, gradients just written", "copied in and out");
    for (std::size_t i = 0; i < std::size(kArms); ++i) {
      std::printf(" | %8s %17s %6s", "us", "quartiles", "GB/s");
    }
    std::printf("\n");
  }
  for (const std::size_t bytes : kSizes) {
    const auto measured = measure(**comm, *buffer, bytes / sizeof(float), seconds);
    if (rank != 0) continue;
    std::printf("%10zu", bytes);
    for (const std::vector<double>& arm : measured) print_arm(arm, bytes);
    std::printf("\n");
  }
  return 0;
}

}  // namespace
}  // namespace ocrtune

int main(int argc, char** argv) {
  const auto ranks = ocrtune::parse_integer(argc > 1 ? argv[1] : "2");
  const auto seconds = ocrtune::parse_number(argc > 2 ? argv[2] : "1");
  if (!ranks || *ranks < 1 || *ranks > 64 || !seconds || *seconds <= 0) {
    std::fprintf(stderr, "usage: %s [RANKS [SECONDS_PER_SIZE]]\n", argv[0]);
    return 2;
  }
  const std::string segment = ocrtune::new_segment_name();
  for (int rank = 0; rank < *ranks; ++rank) {
    if (::fork() == 0) {
      const int code = ocrtune::run_rank(segment, rank, static_cast<int>(*ranks), *seconds);
      std::fflush(stdout);
      ::_exit(code);
    }
  }
  int worst = 0;
  for (int status = 0; ::wait(&status) > 0;) worst = std::max(worst, status == 0 ? 0 : 1);
  ocrtune::remove_segment(segment);
  return worst;
}
