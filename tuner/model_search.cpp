#include "tuner/model_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "base/stats.h"
#include "tuner/coordinate_search.h"
#include "tuner/forecaster.h"
#include "tuner/ladder.h"
#include "tuner/race.h"
#include "tuner/search_board.h"

namespace ocrtune {
namespace {

constexpr double kLittle = 0.0005;  // expected improvement that is not worth a trial
constexpr int kLittleInARow = 4;
constexpr int kMostRaceTrials = 24;

double normal_density(double z) { return std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi); }
double normal_share(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

// E[max(0, x - bar)] for x normal.
double expected_improvement(double mean, double deviation, double bar) {
  const double z = (mean - bar) / deviation;
  return deviation * (z * normal_share(z) + normal_density(z));
}

class ModelSearch : public Search {
 public:
  ModelSearch(const Space& space, const SearchOptions& options)
      : board_(space, options),
        forecaster_(space, options.cores, options.expected_noise),
        ladder_(space, options.cores > 0 ? options.cores : cores_of_space(space)),
        random_(options.seed) {}

  void tell(const Trial& trial) override { board_.tell(trial); }
  std::string stop_reason() const override { return board_.stop_reason; }
  std::vector<FittedTerm> terms() const override { return forecaster_.speed().terms(); }

  Prediction predict(const Knobs& knobs) const override {
    Prediction prediction = board_.measured(knobs);
    const int point = board_.space->find(knobs);
    if (point < 0) return prediction;
    learn();
    if (!forecaster_.ready()) return prediction;
    const SpeedForecast speed = forecaster_.forecast(point);
    prediction.samples_per_second = {std::exp(speed.log_rate),
                                     std::exp(speed.log_rate - 1.96 * speed.deviation),
                                     std::exp(speed.log_rate + 1.96 * speed.deviation)};
    return prediction;
  }

  std::optional<Proposal> next(double seconds_left) override {
    const int left = board_.trials_left(seconds_left);
    if (left < 1) return stop("budget");
    if (const auto duty = board_.duty(ladder_.step() >= 3)) return board_.propose_duty(*duty);
    const int budget = board_.ledger.trials() + left;
    const int reserve = std::clamp(budget / 5, 2, kMostRaceTrials);
    if (race_.started() || (left <= reserve && board_.ledger.best() >= 0)) return race(left);
    if (ladder_.step() < most_ladder(budget)) {
      if (const auto point = ladder_.next(admitted_and_open())) {
        return board_.propose(*point, "ladder", ladder_.why());
      }
    }
    learn();
    if (!forecaster_.ready()) {
      const int lightest = board_.safety.lightest();
      if (board_.open(lightest) && board_.safety.admit(lightest).admitted) {
        return board_.propose(lightest, "ladder", "the lightest setting");
      }
      if (const auto point = any_open())
        return board_.propose(*point, "ladder", "any that may run");
      return stop("no setting works");
    }
    if (const auto point = acquire()) {
      Proposal proposal = board_.propose(*point, "model", "the largest expected improvement");
      proposal.expected_samples_per_second = std::exp(forecaster_.forecast(*point).log_rate);
      return proposal;
    }
    return race(left);
  }

 private:
  SearchBoard board_;
  mutable Forecaster forecaster_;
  Ladder ladder_;
  Random random_;
  Race race_;
  int little_in_a_row_ = 0;
  std::string explored_ = "budget";

  std::optional<Proposal> stop(std::string reason) {
    board_.stop_reason = std::move(reason);
    return std::nullopt;
  }

  void learn() const { forecaster_.update(board_.ledger); }

  static int most_ladder(int budget) { return std::clamp(budget / 3, 3, 8); }

  std::function<bool(int)> admitted_and_open() const {
    return [this](int point) { return board_.open(point) && board_.safety.admit(point).admitted; };
  }

  std::optional<int> any_open() const {
    const auto allowed = admitted_and_open();
    for (int point = 0; point < board_.space->size(); ++point) {
      if (allowed(point)) return point;
    }
    return std::nullopt;
  }

  // Untried admitted points worth asking the process about.
  std::vector<int> asked(int incumbent) {
    const Space& space = *board_.space;
    std::vector<std::pair<double, int>> by_model;
    const auto allowed = admitted_and_open();
    for (int point = 0; point < space.size(); ++point) {
      if (allowed(point)) by_model.emplace_back(-forecaster_.rough_log_rate(point), point);
    }
    std::set<int> chosen;
    const std::size_t top = std::min<std::size_t>(by_model.size(), 250);
    std::nth_element(by_model.begin(), by_model.begin() + static_cast<std::ptrdiff_t>(top),
                     by_model.end());
    for (std::size_t i = 0; i < top; ++i) chosen.insert(by_model[i].second);
    for (int i = 0; i < 300 && top < by_model.size(); ++i) {
      const auto at = random_.integer(0, static_cast<std::int64_t>(by_model.size()) - 1);
      chosen.insert(by_model[static_cast<std::size_t>(at)].second);
    }
    if (incumbent >= 0) {
      for (int near : space.neighbours(incumbent)) {
        if (allowed(near)) chosen.insert(near);
        for (int next : space.neighbours(near)) {
          if (allowed(next)) chosen.insert(next);
        }
      }
    }
    for (int point : board_.ledger.tried()) {
      if (board_.spoilt_only(point)) chosen.insert(point);
    }
    for (int point : forecaster_.suspicious()) {
      const PointRecord& record = board_.ledger.record(point);
      if (record.failures == 0 && record.trials < 3) chosen.insert(point);
    }
    return {chosen.begin(), chosen.end()};
  }

  std::vector<std::pair<double, int>> tried_by_forecast() const {
    std::vector<std::pair<double, int>> ranked;
    for (int point : board_.ledger.tried()) {
      const PointRecord& record = board_.ledger.record(point);
      if (!record.works() || record.failures > 0) continue;
      ranked.emplace_back(-forecaster_.forecast(point).log_rate, point);
    }
    std::sort(ranked.begin(), ranked.end());
    return ranked;
  }

  std::optional<int> acquire() {
    const auto ranked = tried_by_forecast();
    const double bar = ranked.empty() ? -1e9 : -ranked[0].first;
    int best = -1;
    double most = 0;
    for (int point : asked(ranked.empty() ? -1 : ranked[0].second)) {
      const SpeedForecast speed = forecaster_.forecast(point);
      const double gain = ranked.empty()
                              ? std::exp(speed.log_rate)
                              : expected_improvement(speed.log_rate, speed.deviation, bar);
      if (gain <= most) continue;
      most = gain;
      best = point;
    }
    if (best < 0) {
      explored_ = "every admitted setting tried";
      return std::nullopt;
    }
    little_in_a_row_ = most < kLittle ? little_in_a_row_ + 1 : 0;
    if (little_in_a_row_ >= kLittleInARow) {
      explored_ = "improvement under 0.5 %";
      return std::nullopt;
    }
    return best;
  }

  std::optional<Proposal> race(int left) {
    if (!race_.started()) {
      learn();
      const auto ranked = tried_by_forecast();
      if (ranked.empty()) return stop("no setting works");
      const int runners = std::clamp((left + 1) / 3, 2, 8);
      std::vector<int> leaders;
      for (const auto& [value, point] : ranked) {
        if (static_cast<int>(leaders.size()) < runners) leaders.push_back(point);
      }
      race_ = Race(std::move(leaders), {kMostRaceTrials, 0.004, board_.options.seed + 1});
    }
    learn();
    const auto standing = [this](int point) {
      const SpeedForecast speed = forecaster_.forecast(point);
      return Standing{speed.log_rate, speed.deviation};
    };
    const auto point = race_.next(board_.ledger, standing, left);
    if (!point) return stop(explored_);
    return board_.propose(*point, "race", fmt::format("round {} of the leaders", race_.round()));
  }
};

}  // namespace

std::unique_ptr<Search> make_model_search(const Space& space, const SearchOptions& options) {
  return std::make_unique<ModelSearch>(space, options);
}

}  // namespace ocrtune
