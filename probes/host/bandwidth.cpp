// First all CPUs together climb to the plateau, then smaller teams run over arrays of the same
// reach. Fewer threads may be faster than all, and the best rate counts. Every step has a deadline,
// because under a hypervisor the first touch can take most of the time.
#include "probes/host/bandwidth.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstddef>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "probes/host/pinned_team.h"

namespace ocrtune {
namespace {

constexpr std::uint64_t kBytesPerElement = 3 * sizeof(double);
constexpr std::uint64_t kMinBytes = 96ULL << 20;  // where the caches are unknown or tiny
constexpr std::uint64_t kMaxBytes = 16ULL << 30;  // enough for 24 x the largest caches sold
constexpr double kTouchShare = 0.65;  // of a team's time: cold pages of a VM come at 0.5 GB/s
constexpr double kClimbShare = 0.8;   // of the time for all CPUs together
constexpr double kFlat = 0.9;         // a larger array within 10 % of a smaller one: the plateau

// Private pages of one thread: three arrays side by side.
class Pages {
 public:
  explicit Pages(std::uint64_t bytes) : bytes_(bytes) {
    void* at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return;
    ::madvise(at, bytes_, MADV_HUGEPAGE);  // fewer faults; where refused, small pages do
    at_ = static_cast<double*>(at);
  }
  ~Pages() {
    if (at_ != nullptr) ::munmap(at_, bytes_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  double* get() const { return at_; }

 private:
  std::uint64_t bytes_;
  double* at_ = nullptr;
};

// a = b + 3 c over n elements (a multiple of 8, 64-byte aligned), past the caches.
void triad(double* a, const double* b, const double* c, std::size_t n) {
#if defined(__SSE2__)
  const __m128d factor = _mm_set1_pd(3.0);
  for (std::size_t i = 0; i < n; i += 8) {
    for (std::size_t j = i; j < i + 8; j += 2) {
      _mm_stream_pd(a + j, _mm_add_pd(_mm_load_pd(b + j), _mm_mul_pd(factor, _mm_load_pd(c + j))));
    }
  }
  _mm_sfence();
#else
  for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + 3.0 * c[i];
#endif
}

struct Round {
  double bytes_per_second = 0;  // 0: memory or threads were refused, or there was no time for it
  std::uint64_t bytes = 0;      // of the arrays together
};

// When a team stops: `enough` once there were a few rounds, `last` however few there were.
struct Until {
  double enough = 0, last = 0;
};

// Touches pages one after the other; gives the bytes that were touched at `until`. Where the
// machine has to find them first, a hypervisor under load, that is slow.
std::uint64_t touch(double* pages, std::uint64_t bytes, double until) {
  constexpr std::uint64_t kBlock = 1ULL << 20;
  std::uint64_t touched = 0;
  while (touched < bytes && steady_clock().now_seconds() < until) {
    const std::uint64_t block = std::min(kBlock, bytes - touched);
    std::fill_n(pages + touched / sizeof(double), block / sizeof(double), 1.0);
    touched += block;
  }
  return touched;
}

// One team over arrays of `bytes` together, or of as many as it could touch in most of the time, no
// fewer than `least`. A round is timed from the last thread's arrival at one barrier to the last
// arrival at the next; the best round counts.
Round best_round(const std::vector<int>& cpus, std::uint64_t bytes, std::uint64_t least,
                 Until until) {
  // Guesses: the best of so few rounds is stable, and more of them would take time from the climb.
  constexpr std::size_t kMaxRounds = 12;
  constexpr std::uint64_t kRounding = 256;  // bytes of a thread, below whole lines and elements
  const std::size_t team = cpus.size();
  const std::uint64_t each = bytes / team / 64 * 64;
  const double begin = steady_clock().now_seconds();
  const double touch_until = begin + kTouchShare * (until.last - begin);
  std::vector<double> times;
  std::atomic<std::uint64_t> touched = each;
  std::size_t n = 0;
  std::atomic<bool> stop = false;
  std::barrier barrier(static_cast<std::ptrdiff_t>(team), [&]() noexcept {
    n = touched / kBytesPerElement / 8 * 8;
    times.push_back(steady_clock().now_seconds());
    const bool enough = times.size() >= 4 && times.back() > until.enough;
    const bool little = n * kBytesPerElement * team + kRounding * team < least;
    stop = little || enough || times.back() > until.last || times.size() > kMaxRounds;
  });
  times.reserve(kMaxRounds + 2);
  const bool ran = run_pinned(cpus, [&](std::size_t) {
    const Pages pages(each);
    double* a = pages.get();
    // First touch, by the thread that computes.
    const std::uint64_t mine = a == nullptr ? 0 : touch(a, each, touch_until);
    std::uint64_t fewest = touched;
    // The minimum over the team: all arrays are cut to what the slowest thread has touched.
    while (mine < fewest && !touched.compare_exchange_weak(fewest, mine)) continue;
    barrier.arrive_and_wait();
    while (!stop) {
      triad(a, a + n, a + 2 * n, n);
      barrier.arrive_and_wait();
    }
  });
  Round best;
  if (!ran) return best;
  best.bytes = n * team * kBytesPerElement;
  for (std::size_t i = 2; i < times.size(); ++i) {  // the first round is the warm-up
    const double speed = static_cast<double>(best.bytes) / (times[i] - times[i - 1]);
    best.bytes_per_second = std::max(best.bytes_per_second, speed);
  }
  return best;
}

struct Plateau {
  double bytes_per_second = 0;
  std::uint64_t bytes = 0;  // of the arrays together
  bool flat = false;        // false: memory or time ended the climb
};

// Doubles the arrays until the figure no longer falls.
Plateau climb(const BandwidthOptions& plan, double begin) {
  Plateau at;
  const std::uint64_t most = std::min(plan.memory_bytes, kMaxBytes);
  // Each array four times the caches; less where touching so much would eat the time.
  // 0.2 GB/s a CPU: a guess below the rate at which a VM gives cold pages.
  const double touched = 0.2e9 * plan.seconds * static_cast<double>(plan.cpus.size());
  std::uint64_t bytes = std::min(12 * plan.cache_bytes, static_cast<std::uint64_t>(touched));
  // A quarter beyond the caches is the least that says anything of memory.
  const std::uint64_t least = std::max(kMinBytes, plan.cache_bytes / 4 * 5);
  bytes = std::min(std::max(least, bytes), most);
  const double climb_until = begin + kClimbShare * plan.seconds;
  while (true) {
    const double now = steady_clock().now_seconds();
    const Round round =
        best_round(plan.cpus, bytes, least, {now + 0.08 * plan.seconds, climb_until});
    const double speed = round.bytes_per_second;
    if (speed <= 0) return at;
    at.flat = at.bytes_per_second > 0 && round.bytes > at.bytes / 2 * 3 &&
              speed >= kFlat * at.bytes_per_second;
    // Within the plateau the better of two equals is the capability.
    at.bytes_per_second = at.flat ? std::max(speed, at.bytes_per_second) : speed;
    at.bytes = round.bytes;
    // The team was cut short by its deadline, so a larger size would be cut to the same.
    const bool cut = round.bytes < bytes / 10 * 9;
    const bool room = 2 * bytes <= most && !cut;
    // The next size takes about twice as long as this one, first touch included.
    const double spent = steady_clock().now_seconds() - now;
    if (at.flat || !room || steady_clock().now_seconds() + 2 * spent > climb_until) return at;
    bytes *= 2;
  }
}

}  // namespace

Bandwidth measure_bandwidth(const BandwidthOptions& plan) {
  Bandwidth found;
  const std::uint64_t least = std::max(kMinBytes, 2 * plan.cache_bytes);
  if (plan.cpus.empty() || plan.memory_bytes < least) {
    found.bytes_per_second.source =
        plan.cpus.empty() ? "not measured: the allowed CPUs are unknown"
                          : fmt::format("not measured: needs {} of free memory, may use {}",
                                        format_bytes(least), format_bytes(plan.memory_bytes));
    return found;
  }
  const double begin = steady_clock().now_seconds();
  Plateau plateau = climb(plan, begin);
  if (plateau.bytes_per_second <= 0) {  // pages that a hypervisor had to find are there by now
    const double now = steady_clock().now_seconds();
    BandwidthOptions rest = plan;
    rest.seconds = std::max(0.0, begin + plan.seconds - now);
    plateau = climb(rest, now);
  }
  if (plateau.bytes_per_second <= 0) {
    found.bytes_per_second.source =
        "not measured: the system refused the memory or the threads, or was too slow with them";
    return found;
  }
  const std::size_t all = plan.cpus.size();
  std::vector<std::size_t> teams;
  if (all > 1) teams.push_back(1);
  if (all > 3) teams.push_back(all / 2);
  const auto groups = static_cast<std::size_t>(std::max(1, plan.cache_groups));
  double best = plateau.bytes_per_second;
  std::size_t left = teams.size();
  for (const std::size_t team : teams) {
    // As far beyond the caches that this team reaches as the plateau is beyond all of them.
    const std::uint64_t bytes = plateau.bytes * std::min(team, groups) / groups;
    const double now = steady_clock().now_seconds();
    const Until until = {now + 0.12 * plan.seconds,
                         now + (begin + plan.seconds - now) / static_cast<double>(left--)};
    const double speed =
        best_round(spread_over(plan.cpus, team), std::max(bytes, kMinBytes), kMinBytes, until)
            .bytes_per_second;
    if (speed <= 0) continue;
    found.by_team.emplace_back(static_cast<int>(team), speed);
    best = std::max(best, speed);
  }
  found.by_team.emplace_back(static_cast<int>(all), plateau.bytes_per_second);
  found.bytes_per_second = {
      best,
      fmt::format("measured: triad with non-temporal stores over {}{}", format_bytes(plateau.bytes),
                  plateau.flat ? ", on the plateau"
                               : "; larger arrays might be slower (memory or time ended it)")};
  return found;
}

}  // namespace ocrtune
