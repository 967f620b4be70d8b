// Large spaces: a safe initial design, then expected improvement under a model, then a race of the
// leaders.
//
// Each proposal walks the table kStages: the first stage that applies and finds a point has the
// trial. Stages keep only counters; what they know stands in the board and the forecaster, which
// are told trials and nothing else.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "tuner/models/forecaster.h"
#include "tuner/search/acquisition.h"
#include "tuner/search/budget_shares.h"
#include "tuner/search/candidates.h"
#include "tuner/search/hints.h"
#include "tuner/search/initial_design.h"
#include "tuner/search/memory_trade.h"
#include "tuner/search/race.h"
#include "tuner/search/search.h"
#include "tuner/search/search_board.h"

namespace ocrtune {
namespace {

constexpr const char* kOpenQuestion = "nothing else may be as much better";

// Gains are logarithms of the objective.
constexpr double kMinExpectedImprovement = 0.0002;  // below it not worth a trial; guess
constexpr int kPatience = 4;                        // proposals below it, in a row; guess
constexpr double kSmallImprovement = 0.005;         // is anything kMuchBetter still likely? Guess
constexpr double kMuchBetter = 0.03;                // relative; guess
constexpr double kSmallChance = 0.05;               // of much better; guess
constexpr double kTradeChance = 0.5;                // to fit; guess
constexpr double kSettled = 0.004;  // relative deviation of the winner's rate; guess
constexpr int kDesignFirst = 3;     // steps of the initial design before rules of thumb; guess

// One proposal: what the stages decide by, and what the chosen one says of itself.
struct Turn {
  BudgetShares trials;
  bool racing = false;
  bool model = false;                        // there are trials to learn from
  std::optional<Acquisition> acquisition{};  // once a stage asks for it
  std::string why{};
  int round = 0;
};

bool always(const Turn& /*turn*/) { return true; }
bool before_race(const Turn& turn) { return !turn.racing; }
bool before_model(const Turn& turn) { return !turn.racing && !turn.model; }
bool exploring(const Turn& turn) { return !turn.racing && turn.model; }
bool closing(const Turn& turn) { return turn.racing || turn.model; }

class ModelSearch : public Search {
 public:
  ModelSearch(const Space& space, const SearchOptions& options)
      : board_(space, options),
        forecaster_(space, options.cores, options.expected_noise,
                    options.objective.goal == Goal::latency),
        candidates_(board_, forecaster_),
        design_(space, options.cores > 0 ? options.cores : cores_of_space(space)),
        shares_(board_.cpu_shares_of_baseline()),
        hints_(hint_points(space, options.hints)),
        random_(options.seed) {}

  void tell(const Trial& trial) override {
    board_.tell(trial);
    predicted_.clear();
  }
  std::string stop_reason() const override { return board_.stop_reason; }
  const Objective& objective() const override { return board_.options.objective; }
  std::vector<FittedTerm> terms() const override { return forecaster_.speed().terms(); }

  // A verdict asks three times for most settings.
  Prediction predict(const Knobs& knobs) const override {
    const int point = board_.space->find(knobs);
    if (point < 0) return board_.measured(knobs);
    const auto [found, fresh] = predicted_.try_emplace(point);
    if (fresh) found->second = predict_point(point);
    return found->second;
  }

  std::optional<Proposal> next(double seconds_left) override {
    Turn turn;
    BudgetShares& trials = turn.trials;
    trials.left = board_.trials_left(seconds_left);
    if (trials.left < 1) return stop("budget");
    candidates_.set_seconds_left(seconds_left);
    trials.budget = board_.ledger.trials() + trials.left;
    trials.keep_for_race(forecaster_.noise(), board_.baseline() >= 0);
    // The race has the last trials; a race of one would tell nothing.
    turn.racing = race_.started() || (trials.left <= trials.reserve && several_work());
    turn.model = board_.ledger.trials() > 0;
    for (const Stage& stage : kStages) {
      const auto point = stage.applies(turn) ? (this->*stage.propose)(turn) : std::nullopt;
      if (!point) continue;
      if (stage.phase == nullptr) return board_.propose_mandatory(*point);
      Proposal proposal =
          board_.propose(*point, stage.phase, stage.why == nullptr ? turn.why : stage.why);
      proposal.round = turn.round;
      return proposal;
    }
    return stop(race_.started() ? explored_ : "no setting works");
  }

  std::optional<Proposal> settle(const OpenQuestion& question, double seconds_left) override {
    const int chosen = board_.space->find(question.chosen);
    const int rival = board_.space->find(question.rival);
    if (board_.trials_left(seconds_left) < 1 || chosen < 0 || rival < 0) return std::nullopt;
    candidates_.set_seconds_left(seconds_left);
    const auto runs = [&](int point) { return board_.ledger.record(point).best_rates().size(); };
    // Both ran: what is open between them is noise.
    if (!board_.open(rival)) {
      return board_.propose(runs(chosen) < runs(rival) ? chosen : rival, "race",
                            "the leader and its strongest rival, whichever ran less");
    }
    learn();
    const auto point = candidates_.towards(rival, question.objective);
    return point ? std::optional(board_.propose(*point, "model", kOpenQuestion)) : std::nullopt;
  }

 private:
  Prediction predict_point(int point) const {
    const Knobs& knobs = board_.space->knobs(point);
    Prediction prediction = board_.measured(knobs);
    learn();
    if (!forecaster_.ready()) return prediction;
    forecaster_.explain();
    const SpeedForecast speed = forecaster_.forecast(point);
    const double half = forecaster_.wide() * speed.stddev;
    // No forecast passes what the CPU time of a sample allows.
    const double most = board_.max_rate(point);
    const auto value = [&](double log_rate) { return std::min(std::exp(log_rate), most); };
    prediction.objective_value = {value(speed.log_rate), value(speed.log_rate - half),
                                  value(forecaster_.highest(speed))};
    const Goal goal = board_.options.objective.goal;
    // By steps the model learns 1 / step seconds.
    const double samples = goal == Goal::latency ? 1.0 * knobs.nproc * knobs.batch : 1;
    const auto& [median, low, high] = prediction.objective_value;
    prediction.samples_per_second = {samples * median, samples * low, samples * high};
    return prediction;
  }

  // One way to find the next trial, named by what it proposes; see kStages.
  struct Stage {
    bool (*applies)(const Turn& turn);
    std::optional<int> (ModelSearch::*propose)(Turn& turn);
    const char* phase;  // of the proposal; null: the board names it, it is mandatory
    const char* why;    // of the proposal; null: the stage sets Turn::why
  };
  static const std::array<Stage, 14> kStages;

  SearchBoard board_;
  mutable Forecaster forecaster_;
  mutable std::map<int, Prediction> predicted_;  // since the last trial, by point
  Candidates candidates_;
  InitialDesign design_;
  std::vector<int> shares_;  // of the CPUs, around the user's setting
  HintQueue hints_;
  Random random_;
  Race race_;
  int rounds_before_ = 0;  // of other races, which were run at another time
  int shares_tried_ = 0, trades_ = 0, little_in_a_row_ = 0;
  std::string explored_ = "budget";  // why improvement() proposes nothing

  std::optional<Proposal> stop(std::string reason) {
    board_.stop_reason = std::move(reason);
    return std::nullopt;
  }
  void learn() const { forecaster_.update(board_.ledger); }
  const Acquisition& acquisition(Turn& turn) {
    learn();
    if (!turn.acquisition) turn.acquisition.emplace(board_, forecaster_);
    return *turn.acquisition;
  }
  const std::vector<int>& leaders(Turn& turn) { return acquisition(turn).ranking(); }

  // A race of one would spend the rest of a small budget on what is known.
  bool several_work() const {
    const auto eligible = [this](int point) { return board_.ledger.eligible(point); };
    return std::ranges::count_if(board_.ledger.tried(), eligible) > 1;
  }

  // Rules of thumb are run where the budget holds far more than them; else they are settings like
  // any other, worth a trial if the model says so.
  std::optional<int> mandatory(Turn& turn) {
    return board_.next_mandatory(design_.step() >= kDesignFirst && turn.trials.hold_rules());
  }
  std::optional<int> hint(Turn& turn) { return hints_.next(board_, turn.trials.max_hints()); }

  std::optional<int> cpu_share(Turn& turn) {
    if (shares_tried_ >= turn.trials.max_cpu_shares()) return std::nullopt;
    for (const int point : shares_) {
      if (!board_.open(point) || !board_.runnable(point)) continue;
      ++shares_tried_;
      return point;
    }
    return std::nullopt;
  }

  std::optional<int> initial_design(Turn& turn) {
    const int cpus = shares_.empty() ? 0 : board_.options.cpus;
    if (board_.baseline() >= 0 && cpus > 0) design_.skip_lightest();
    const int most = turn.trials.max_design(cpus, shares_tried_);
    if (design_.step() >= most - shares_tried_ - hints_.tried()) return std::nullopt;
    const auto point = design_.next([this](int at) {
      return board_.open(at) && board_.safety.admitted(at) && !board_.crowded(at);
    });
    turn.why = design_.why();
    return point;
  }

  std::optional<int> lightest(Turn& /*turn*/) {
    const int point = board_.safety.lightest();
    if (!board_.open(point) || !board_.safety.admitted(point)) return std::nullopt;
    return point;
  }
  std::optional<int> any(Turn& /*turn*/) { return candidates_.any(); }
  std::optional<int> leader_again(Turn& turn) {
    const std::vector<int>& ranking = leaders(turn);
    if (ranking.empty()) return std::nullopt;
    const std::vector<int>& times = board_.ledger.record(ranking[0]).best_times();
    const bool due = turn.trials.repeat_is_due(times, forecaster_.noise());
    return due ? std::optional<int>(ranking[0]) : std::nullopt;
  }

  std::optional<int> trade(Turn& turn) {
    if (trades_ >= turn.trials.max_trades() || leaders(turn).empty()) return std::nullopt;
    const auto found = memory_trade(board_, leaders(turn)[0], [this](int point) {
      return candidates_.worth_a_trial(point, kTradeChance) &&
             board_.safety.chance_to_fit(point) >= kTradeChance;
    });
    trades_ += found ? 1 : 0;
    return found;
  }

  std::optional<int> improvement(Turn& turn) {
    const auto found = acquisition(turn).best(random_);
    if (!found) {
      explored_ = "every admitted setting tried";
      return std::nullopt;
    }
    little_in_a_row_ = found->gain < kMinExpectedImprovement ? little_in_a_row_ + 1 : 0;
    if (little_in_a_row_ >= kPatience) {
      explored_ = "improvement under 0.02 %";
      return std::nullopt;
    }
    if (found->gain < kSmallImprovement &&
        acquisition(turn).chance_of_better(kMuchBetter, random_) < kSmallChance) {
      explored_ = "probability that anything untried is 3 % better is under 5 %";
      return std::nullopt;
    }
    return found->point;
  }

  std::optional<int> near_leaders(Turn& turn) { return candidates_.near_leaders(leaders(turn)); }
  std::optional<int> far_off(Turn& turn) { return candidates_.far_off(leaders(turn), turn.trials); }
  std::optional<int> open_question(Turn& turn) { return candidates_.open_question(leaders(turn)); }
  // Once begun it goes on to its end.
  std::optional<int> race(Turn& turn) {
    learn();
    if (!race_.started()) {
      std::vector<int> runners = leaders(turn);
      if (runners.empty()) return std::nullopt;
      runners.resize(std::min(runners.size(), turn.trials.max_runners()));
      rounds_before_ = board_.last_round;
      race_ = Race(std::move(runners), {BudgetShares::kMaxRaceTrials, kSettled,
                                        board_.options.seed + 1, board_.baseline()});
    }
    const auto standing = [this](int point) {
      const SpeedForecast speed = forecaster_.forecast(point);
      return Standing{speed.log_rate, speed.stddev};
    };
    const auto point = race_.next(board_.ledger, standing, turn.trials.left);
    if (!point) return std::nullopt;
    turn.round = rounds_before_ + race_.round();
    turn.why = fmt::format("round {} of the leaders", race_.round());
    return point;
  }
};

// The first stage that applies and proposes a setting has the trial. The order is the algorithm.
const std::array<ModelSearch::Stage, 14> ModelSearch::kStages = {{
    // The answer is compared with the user's setting, so that runs first. The retry of a crash
    // decides what else may run.
    {always, &ModelSearch::mandatory, nullptr, nullptr},
    // Before the shares of the CPUs: one trial in five at most, each a complete setting that was
    // fast. Two of them show whether the earlier run holds here.
    {always, &ModelSearch::hint, "earlier", "among the fastest of the earlier run"},
    // Processes against threads is the largest effect, and needs no model to be seen.
    {always, &ModelSearch::cpu_share, "ladder", "the CPUs shared out among processes"},
    // One trial for each effect that the model has a term for, light settings before heavy ones.
    {before_race, &ModelSearch::initial_design, "ladder", nullptr},
    // Reached without a trial only where the design found nothing that is admitted.
    {before_model, &ModelSearch::lightest, "ladder", "the lightest setting"},
    {before_model, &ModelSearch::any, "ladder", "any that may run"},
    // Before all that explores, for its repeats are due at even distances.
    {exploring, &ModelSearch::leader_again, "model", "the leader again, at another moment"},
    // Before the improvement, which never asks for a trade: the settings between are slower.
    {exploring, &ModelSearch::trade, "model", "fewer processes make room for more of another knob"},
    {exploring, &ModelSearch::improvement, "model", "the largest expected improvement"},
    // The model expects nothing better. It may be wrong: first where one step shows it, then far
    // off, then where it leaves more open than a certificate should.
    {exploring, &ModelSearch::near_leaders, "model", "near a leader, in case the model is wrong"},
    {exploring, &ModelSearch::far_off, "model", "far from all trials, in case the model is wrong"},
    {exploring, &ModelSearch::open_question, "model", kOpenQuestion},
    // The claim rests on these repeats.
    {closing, &ModelSearch::race, "race", nullptr},
    // What the race has taught may have opened a question.
    {closing, &ModelSearch::open_question, "model", kOpenQuestion},
}};

}  // namespace

std::unique_ptr<Search> make_model_search(const Space& space, const SearchOptions& options) {
  return std::make_unique<ModelSearch>(space, options);
}

}  // namespace ocrtune
