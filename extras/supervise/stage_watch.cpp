// A state machine over the clock: settle, look for half a minute in six windows, judge, pause. It
// is asked at every turn of the attempt's loop and never sleeps itself.
#include "extras/supervise/stage_watch.h"

#include <algorithm>
#include <utility>

#include "tuner/verdict/held_back.h"

namespace ocrtune {
namespace {

constexpr int kWindows = 6;  // of one look

}  // namespace

StageWatch::StageWatch(const ProcessTree& tree, double cpus, std::set<std::string> fixed,
                       const StageTimes& times)
    : tree_(tree), cpus_(cpus), fixed_(std::move(fixed)), times_(times) {}
StageWatch::~StageWatch() = default;

std::optional<std::vector<HeldBack>> StageWatch::look(double now) {
  if (begun_ < 0) {
    begun_ = now;
    next_ = now + times_.settle_seconds;
  }
  if (cpus_ <= 0 || tree_.members().empty()) return std::nullopt;
  if (!load_) {
    if (now < next_) return std::nullopt;
    LoadDemand demand;
    // How many threads the command wants is not known: all CPUs that it may use.
    demand.threads = demand.cpus = cpus_;
    load_.emplace(tree_, demand);
    load_->begin(now);
    disturbed_ = 0;
    look_end_ = now + times_.look_seconds;
    window_end_ = now + times_.look_seconds / kWindows;
    return std::nullopt;
  }
  load_->look(now);
  if (now < window_end_) return std::nullopt;
  close_window(now);
  if (now < look_end_) return std::nullopt;
  std::vector<HeldBack> held = judge(now);
  load_.reset();
  next_ = now + times_.pause_seconds;
  return held;
}

void StageWatch::close_window(double now) {
  Interference found;
  load_->close(now, found);
  disturbed_ += found.spoilt_by.empty() ? 0 : 1;
  window_end_ = now + times_.look_seconds / kWindows;
}

std::vector<HeldBack> StageWatch::judge(double now) {
  Trial trial;
  trial.threads = load_->threads().use();
  trial.stages = load_->stages().use({});
  const StepCosts costs = costs_.costs();
  if (costs.data_share > 0) trial.stages.data_share = costs.data_share;
  std::vector<HeldBack> held = held_back(std::move(trial), cpus_, fixed_);
  // The log's rates are of the wall clock: other load lowers them, too.
  const bool fell = costs.fell() && 2 * disturbed_ < kWindows;
  if (fell) held.push_back(rate_fell(costs.first_rate, costs.last_rate, now - begun_));
  return held;
}

}  // namespace ocrtune
