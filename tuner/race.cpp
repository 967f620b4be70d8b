#include "tuner/race.h"

#include <algorithm>
#include <cmath>

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
  return difference;
}

Race::Race(std::vector<int> leaders, RaceOptions options)
    : all_(leaders), runners_(std::move(leaders)), options_(options), random_(options.seed) {}

void Race::drop_slow(const Ledger& ledger, int trials_left) {
  std::erase_if(runners_, [&](int point) { return ledger.record(point).failures > 0; });
  if (runners_.size() < 2 || round_ < 2) return;
  const auto rate = [&](int point) { return median(ledger.record(point).race_rates); };
  std::stable_sort(runners_.begin(), runners_.end(),
                   [&](int a, int b) { return rate(a) > rate(b); });
  const auto& best = ledger.record(runners_[0]).race_rates;
  std::erase_if(runners_, [&](int point) {
    if (point == runners_[0]) return false;
    const PairedDifference behind =
        paired_difference(best, ledger.record(point).race_rates, options_.noise);
    return behind.mean > kClearlyBehind * behind.error;
  });
  // What is left of the budget must still give the survivors rounds enough to be told apart.
  while (runners_.size() > 2 &&
         static_cast<int>(runners_.size()) * std::max(1, options_.least_rounds - round_) >
             trials_left) {
    runners_.pop_back();
  }
}

std::optional<int> Race::next(const Ledger& ledger, int trials_left) {
  if (trials_left < 1) return std::nullopt;
  if (order_.empty()) {
    drop_slow(ledger, trials_left);
    if (runners_.empty()) return std::nullopt;
    if (static_cast<int>(runners_.size()) > trials_left && round_ >= 1) return std::nullopt;
    order_ = runners_;
    random_.shuffle(order_);
    ++round_;
  }
  const int point = order_.back();
  order_.pop_back();
  return point;
}

}  // namespace ocrtune
