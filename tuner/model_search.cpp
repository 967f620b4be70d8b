#include "tuner/model_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "base/stats.h"
#include "tuner/acquisition.h"
#include "tuner/coordinate_search.h"
#include "tuner/forecaster.h"
#include "tuner/ladder.h"
#include "tuner/race.h"
#include "tuner/search_board.h"

namespace ocrtune {
namespace {

constexpr double kLittle = 0.0002;  // expected improvement that is not worth a trial
constexpr int kLittleInARow = 4;
constexpr double kSomething = 0.005;  // below it, is anything much better still likely?
constexpr double kBetter = 0.03, kUnlikely = 0.05;
constexpr int kMostRaceTrials = 24;

class ModelSearch : public Search {
 public:
  ModelSearch(const Space& space, const SearchOptions& options)
      : board_(space, options),
        forecaster_(space, options.cores, options.expected_noise,
                    options.objective.goal == Goal::latency),
        ladder_(space, options.cores > 0 ? options.cores : cores_of_space(space)),
        random_(options.seed) {}

  void tell(const Trial& trial) override { board_.tell(trial); }
  std::string stop_reason() const override { return board_.stop_reason; }
  const Objective& objective() const override { return board_.options.objective; }
  std::vector<FittedTerm> terms() const override { return forecaster_.speed().terms(); }

  Prediction predict(const Knobs& knobs) const override {
    Prediction prediction = board_.measured(knobs);
    const int point = board_.space->find(knobs);
    if (point < 0) return prediction;
    learn();
    if (!forecaster_.ready()) return prediction;
    const SpeedForecast speed = forecaster_.forecast(point);
    prediction.merit = {std::exp(speed.log_rate), std::exp(speed.log_rate - 1.96 * speed.deviation),
                        std::exp(speed.log_rate + 1.96 * speed.deviation)};
    const Goal goal = board_.options.objective.goal;
    if (goal == Goal::energy) return prediction;
    const double samples =
        goal == Goal::latency ? static_cast<double>(knobs.nproc) * knobs.batch : 1;
    const Interval& merit = prediction.merit;
    prediction.samples_per_second = {samples * merit.median, samples * merit.low,
                                     samples * merit.high};
    return prediction;
  }

  std::optional<Proposal> next(double seconds_left) override {
    const int left = board_.trials_left(seconds_left);
    if (left < 1) return stop("budget");
    if (const auto duty = board_.duty(ladder_.step() >= 3)) return board_.propose_duty(*duty);
    const int budget = board_.ledger.trials() + left;
    const int reserve = std::clamp(budget / 10, 2, kMostRaceTrials);
    if (race_.started() || (left <= reserve && board_.ledger.best() >= 0)) return race(left);
    if (ladder_.step() < most_ladder(budget)) {
      if (const auto point = ladder_.next(admitted_and_open())) {
        return board_.propose(*point, "ladder", ladder_.why());
      }
    }
    learn();
    if (!forecaster_.ready()) {
      const int lightest = board_.safety.lightest();
      if (board_.open(lightest) && board_.safety.admitted(lightest)) {
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
    return [this](int point) { return board_.open(point) && board_.safety.admitted(point); };
  }

  std::optional<int> any_open() const {
    const auto allowed = admitted_and_open();
    for (int point = 0; point < board_.space->size(); ++point) {
      if (allowed(point)) return point;
    }
    return std::nullopt;
  }

  std::optional<int> acquire() {
    const Acquisition acquisition(board_, forecaster_);
    const auto found = acquisition.best(random_);
    if (!found) {
      explored_ = "every admitted setting tried";
      return std::nullopt;
    }
    little_in_a_row_ = found->gain < kLittle ? little_in_a_row_ + 1 : 0;
    if (little_in_a_row_ >= kLittleInARow) {
      explored_ = "improvement under 0.02 %";
      return std::nullopt;
    }
    if (found->gain < kSomething && acquisition.chance_of_better(kBetter, random_) < kUnlikely) {
      explored_ = "probability that anything untried is 3 % better is under 5 %";
      return std::nullopt;
    }
    return found->point;
  }

  std::optional<Proposal> race(int left) {
    if (!race_.started()) {
      learn();
      std::vector<int> leaders = Acquisition(board_, forecaster_).ranking();
      if (leaders.empty()) return stop("no setting works");
      const int runners = std::clamp((left + 1) / 3, 2, 8);
      if (leaders.size() > static_cast<std::size_t>(runners)) leaders.resize(runners);
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
