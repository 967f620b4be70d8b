#include "tuner/race.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/stats.h"

namespace ocrtune {
namespace {

// Behind by more than this many standard errors: out.
constexpr double kClearlyBehind = 2.0;

}  // namespace

PairedDifference paired_difference(const std::vector<double>& a, const std::vector<double>& b,
                                   double noise) {
  PairedDifference difference;
  const std::size_t rounds = std::min(a.size(), b.size());
  std::vector<double> logs;
  for (std::size_t i = 0; i < rounds; ++i) logs.push_back(std::log(a[i] / b[i]));
  difference.rounds = static_cast<int>(rounds);
  difference.mean = median(logs);
  // The spread of few pairs says little: it is pooled with what repeats show elsewhere.
  const double prior = noise * std::sqrt(2.0);
  const double seen = deviation(logs);
  const auto count = static_cast<double>(rounds);
  const double freedom = std::max(0.0, count - 1);
  const double variance = (4 * prior * prior + freedom * seen * seen) / (4 + freedom);
  difference.error = rounds == 0 ? 1e9 : std::sqrt(variance / count);
  difference.own_error = rounds < 2 ? difference.error : seen / std::sqrt(count);
  return difference;
}

Race::Race(std::vector<int> leaders, RaceOptions options)
    : runners_(std::move(leaders)), options_(options), random_(options.seed) {}

void Race::start_round(const Ledger& ledger, const StandingOf& standing, int trials_left) {
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
    const bool out =
        round_ > 0 && behind > kClearlyBehind * std::hypot(best.deviation, other.deviation);
    if (!out && runners_.size() < most) runners_.push_back(point);
  }
  order_ = runners_;
  const bool invited = options_.guest >= 0 && round_ < options_.guest_rounds &&
                       ledger.record(options_.guest).works() &&
                       std::find(order_.begin(), order_.end(), options_.guest) == order_.end();
  if (invited && static_cast<int>(order_.size()) < trials_left) order_.push_back(options_.guest);
  if (static_cast<int>(order_.size()) <= trials_left) {
    random_.shuffle(order_);
  } else {
    std::reverse(order_.begin(), order_.end());  // too few trials for a round: the best first
  }
  ++round_;
}

std::optional<int> Race::next(const Ledger& ledger, const StandingOf& standing, int trials_left) {
  if (trials_left < 1 || trials_ >= options_.most_trials) return std::nullopt;
  if (order_.empty()) {
    const bool settled =
        round_ >= 2 && runners_.size() == 1 && standing(runners_[0]).deviation < options_.settled;
    if (settled) return std::nullopt;
    start_round(ledger, standing, std::min(trials_left, options_.most_trials - trials_));
  }
  if (order_.empty()) return std::nullopt;
  const int point = order_.back();
  order_.pop_back();
  ++trials_;
  return point;
}

}  // namespace ocrtune
