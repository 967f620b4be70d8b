// A round is a shuffled list of the runners, which next() empties from its end. Runners leave
// between rounds alone, so that those that stay have equally many repeats.
#include "tuner/search/race.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/stats.h"

namespace ocrtune {
namespace {

// Behind by more than this many standard errors: out.
constexpr double kClearlyBehind = 2.0;

}  // namespace

Race::Race(std::vector<int> leaders, RaceOptions options)
    : runners_(std::move(leaders)), options_(options), random_(options.seed) {}

void Race::start_round(const Ledger& ledger, const StandingOf& standing, int trials_left) {
  // One failure of a leader is enough: it would not be launched.
  std::erase_if(runners_, [&](int point) { return ledger.record(point).failures > 0; });
  if (runners_.empty()) return;
  std::vector<std::pair<double, int>> ranked;
  for (int point : runners_) ranked.emplace_back(-standing(point).log_rate, point);
  std::sort(ranked.begin(), ranked.end());
  const Standing best = standing(ranked[0].second);
  // Two more rounds for each, or only two runners.
  const auto most = static_cast<std::size_t>(std::max(2, trials_left / 2));
  runners_.clear();
  for (const auto& [value, point] : ranked) {
    const Standing other = standing(point);
    const double behind = best.log_rate - other.log_rate;
    // Before the first round standings rest on trials of different times.
    const bool out = round_ > 0 && behind > kClearlyBehind * std::hypot(best.stddev, other.stddev);
    if (!out && runners_.size() < most) runners_.push_back(point);
  }
  order_ = runners_;
  const bool invited = options_.baseline >= 0 && round_ < options_.baseline_rounds &&
                       ledger.record(options_.baseline).works() &&
                       std::find(order_.begin(), order_.end(), options_.baseline) == order_.end();
  if (invited && static_cast<int>(order_.size()) < trials_left) order_.push_back(options_.baseline);
  if (static_cast<int>(order_.size()) <= trials_left) {
    random_.shuffle(order_);
  } else {
    std::reverse(order_.begin(), order_.end());  // too few trials for a round: the best first
  }
  ++round_;
}

std::optional<int> Race::next(const Ledger& ledger, const StandingOf& standing, int trials_left) {
  if (trials_left < 1 || trials_ >= options_.max_trials) return std::nullopt;
  if (order_.empty()) {
    const bool settled =
        round_ >= 2 && runners_.size() == 1 && standing(runners_[0]).stddev < options_.settled;
    if (settled) return std::nullopt;
    start_round(ledger, standing, std::min(trials_left, options_.max_trials - trials_));
  }
  if (order_.empty()) return std::nullopt;
  const int point = order_.back();
  order_.pop_back();
  ++trials_;
  return point;
}

}  // namespace ocrtune
