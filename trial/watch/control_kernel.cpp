// Each thread walks over its own 512 KiB, so that clock and caches both show. Readings are compared
// with the median of the last 20: the unit never leaves this file.
#include "trial/watch/control_kernel.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/stats.h"
#include "base/thread_team.h"

namespace ocrtune {
namespace {

constexpr std::size_t kFloats = 512UL * 1024 / sizeof(float);
constexpr std::size_t kRecent = 20;  // readings that say what is usual
constexpr std::size_t kMinReadings = 5;
constexpr double kSlow = 0.10;
constexpr double kClear = 4;         // deviations of the readings
constexpr double kStaleSeconds = 2;  // an older reading says nothing about the next trial

// One pass over the buffer; the result is used so that no compiler may leave it out.
float pass(std::vector<float>& buffer) {
  float sum = 0;
  for (float& value : buffer) {
    value = value * 0.999F + 0.001F;
    sum += value;
  }
  return sum;
}

class ControlledRunner : public Runner {
 public:
  ControlledRunner(std::unique_ptr<Runner> inner, std::function<double()> kernel)
      : inner_(std::move(inner)), kernel_(std::move(kernel)) {}

  Trial run(const Knobs& knobs, const TrialLimits& limits) override {
    // The reading after one trial is the reading before the next, unless time has passed.
    const double before = is_fresh() ? last_ : read();
    Trial trial = inner_->run(knobs, limits);
    // A neighbour may come in the middle: the lower one counts.
    const double lower = std::min(before, read());
    trial.control_share = history_.share(lower);
    if (!history_.clearly_slow(lower)) return trial;
    for (Sample& sample : trial.samples) {
      if (!sample.clean()) continue;
      sample.interference.spoilt_by = fmt::format(
          "the control kernel ran at {:.0f} % of its usual speed", 100 * trial.control_share);
    }
    return trial;
  }

 private:
  std::unique_ptr<Runner> inner_;
  std::function<double()> kernel_;
  ControlHistory history_;
  double last_ = 0;
  double read_at_ = -1e9;

  bool is_fresh() const { return steady_clock().now_seconds() - read_at_ < kStaleSeconds; }

  double read() {
    last_ = kernel_();
    read_at_ = steady_clock().now_seconds();
    history_.add(last_);
    return last_;
  }
};

}  // namespace

double control_kernel_rate(int threads, double seconds) {
  std::atomic<double> rate{0};
  std::atomic<float> sink{0};
  const bool ran = run_team(static_cast<std::size_t>(std::max(threads, 1)), [&](std::size_t) {
    std::vector<float> buffer(kFloats, 1.0F);
    const double start = steady_clock().now_seconds();
    double now = start;
    int passes = 0;
    float sum = 0;
    // One pass at least, or a busy machine would divide by nothing.
    for (; passes == 0 || now < start + seconds; ++passes) {
      sum += pass(buffer);
      now = steady_clock().now_seconds();
    }
    rate += passes / (now - start);
    // So that no compiler leaves the sums out.
    sink.store(sum, std::memory_order_relaxed);
  });
  return ran ? rate.load() : 0;
}

void ControlHistory::add(double rate) {
  if (!(rate > 0)) return;
  if (recent_.size() == kRecent) recent_.erase(recent_.begin());
  recent_.push_back(rate);
}

double ControlHistory::share(double rate) const {
  if (recent_.size() < kMinReadings || !(rate > 0)) return 0;
  return rate / median(recent_);
}

bool ControlHistory::clearly_slow(double rate) const {
  const double at = share(rate);
  if (at <= 0) return false;
  const double spread = median_absolute_deviation(recent_) / median(recent_);
  return 1 - at > std::max(kSlow, kClear * spread);
}

std::unique_ptr<Runner> make_controlled_runner(std::unique_ptr<Runner> inner,
                                               std::function<double()> kernel) {
  return std::make_unique<ControlledRunner>(std::move(inner), std::move(kernel));
}

}  // namespace ocrtune
