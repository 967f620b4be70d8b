#include "supervise/stage_watch.h"

#include <algorithm>
#include <utility>

#include "tuner/models/repeats.h"
#include "tuner/verdict/held_back.h"
#include "tuner/verdict/settings.h"

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
    demand.threads = demand.cpus = cpus_;
    load_.emplace(tree_, demand);
    load_->begin(now);
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
  Interference disturbed;  // a run goes on whatever else the machine does
  load_->close(now, disturbed);
  window_end_ = now + times_.look_seconds / kWindows;
}

std::vector<HeldBack> StageWatch::judge(double now) {
  Trial trial;
  trial.outcome = Outcome::ok;
  trial.threads = load_->threads().use();
  trial.stages = load_->stages().use({});
  const StepCosts costs = costs_.costs();
  if (costs.data_share > 0) trial.stages.data_share = costs.data_share;
  const std::vector<Trial> trials = {trial};
  std::vector<HeldBack> held =
      held_back(trials, settings_of(trials, kExpectedNoise), trial.knobs, cpus_, fixed_);
  if (costs.fell()) held.push_back(rate_fell(costs.first_rate, costs.last_rate, now - begun_));
  return held;
}

}  // namespace ocrtune
