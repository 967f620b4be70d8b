#include "tuner/search/model_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "base/stats.h"
#include "tuner/models/forecaster.h"
#include "tuner/search/acquisition.h"
#include "tuner/search/coordinate_search.h"
#include "tuner/search/hints.h"
#include "tuner/search/initial_design.h"
#include "tuner/search/memory_trade.h"
#include "tuner/search/race.h"
#include "tuner/search/search_board.h"

namespace ocrtune {
namespace {

constexpr double kMinExpectedImprovement =
    0.0002;  // expected improvement that is not worth a trial
constexpr int kPatience = 4;
constexpr double kSmallImprovement = 0.005;  // below it, is anything much better still likely?
constexpr double kMuchBetter = 0.03, kSmallChance = 0.05;
constexpr int kMaxRaceTrials = 24;
constexpr std::size_t kLeadersToCheck = 5;
constexpr int kMaxPairChecks = 12, kMaxOthers = 12, kMaxFar = 8;  // checks of each kind
constexpr double kClaimError = 0.01;  // relative: the most that noise alone should do to a claim
constexpr double kRaceShare = 0.4, kRaceFree = 30;       // of a budget's trials, past the first 30
constexpr double kLeaderShare = 0.33, kLeaderFree = 20;  // runs of the leader, in the same way
constexpr double kLeaderFrom = 0.4;  // of the budget: before it, the best changes
constexpr double kMinRepeats = 4, kMinGap = 3;
constexpr double kLastChance = 0.02;  // to fit, of a guarded trial when all else is known
constexpr int kTradesFrom = 6, kTrialsATrade = 20;  // trials left beside the race; of the budget
constexpr double kTradeChance = 0.5;                // to fit
constexpr int kScanned = 600;   // points of a large space that one proposal looks at
constexpr int kRulesFrom = 16;  // trials left beside the race
constexpr int kMaxShares = 4;
constexpr int kTrialsAHint = 5;     // of the budget: an earlier run may mislead
constexpr int kRungsADoubling = 2;  // of the CPUs, beside their shares
constexpr int kNoRaceBelow = 6;     // trials: each goes to a setting that was not run
constexpr double kWideGuess = 5;    // deviations; a model that saw ten trials can be that wrong

// `point` with two of its words replaced by a pair that no working trial had: what two words do
// together cannot be told from either.
std::vector<int> new_pairs(const Space& space, const Ledger& ledger, int point) {
  std::set<std::array<std::size_t, 4>> met;
  std::vector<std::size_t> words;
  for (std::size_t a = 0; a < space.axes().size(); ++a) {
    if (space.axes()[a].scale == KnobScale::category) words.push_back(a);
  }
  const auto value_of = [&](int at, std::size_t axis) {
    return static_cast<std::size_t>(space.place(at)[axis]);
  };
  for (const int tried : ledger.tried()) {
    if (!ledger.record(tried).works()) continue;
    for (const std::size_t a : words) {
      for (const std::size_t b : words) met.insert({a, b, value_of(tried, a), value_of(tried, b)});
    }
  }
  std::vector<int> points;
  for (const std::size_t a : words) {
    for (const std::size_t b : words) {
      if (b <= a) continue;
      for (std::size_t x = 0; x < space.axes()[a].values.size(); ++x) {
        for (std::size_t y = 0; y < space.axes()[b].values.size(); ++y) {
          if (met.count({a, b, x, y}) > 0) continue;
          std::vector<int> place = space.place(point);
          place[a] = static_cast<int>(x);
          place[b] = static_cast<int>(y);
          const int other = space.at(place);
          if (other >= 0) points.push_back(other);
        }
      }
    }
  }
  return points;
}

int steps_between(const Space& space, int a, int b) {
  int steps = 0;
  for (std::size_t i = 0; i < space.axes().size(); ++i) {
    steps += std::abs(space.place(a)[i] - space.place(b)[i]);
  }
  return steps;
}

class ModelSearch : public Search {
 public:
  ModelSearch(const Space& space, const SearchOptions& options)
      : board_(space, options),
        forecaster_(space, options.cores, options.expected_noise,
                    options.objective.goal == Goal::latency),
        design_(space, options.cores > 0 ? options.cores : cores_of_space(space)),
        shares_(board_.cpu_shares_of_baseline()),
        hints_(hint_points(space, options.hints)),
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
    forecaster_.explain();
    const SpeedForecast speed = forecaster_.forecast(point);
    const double half = forecaster_.wide() * speed.stddev;
    const double most = board_.max_rate(point);
    const auto value = [&](double log_rate) { return std::min(std::exp(log_rate), most); };
    prediction.objective_value = {value(speed.log_rate), value(speed.log_rate - half),
                                  value(forecaster_.highest(speed))};
    const Goal goal = board_.options.objective.goal;
    if (goal == Goal::energy) return prediction;
    const double samples =
        goal == Goal::latency ? static_cast<double>(knobs.nproc) * knobs.batch : 1;
    const Interval& objective_value = prediction.objective_value;
    prediction.samples_per_second = {samples * objective_value.median,
                                     samples * objective_value.low, samples * objective_value.high};
    return prediction;
  }

  std::optional<Proposal> next(double seconds_left) override {
    const int left = board_.trials_left(seconds_left);
    if (left < 1) return stop("budget");
    const int budget = board_.ledger.trials() + left;
    const int reserve = race_reserve(budget);
    seconds_left_ = seconds_left;
    // Rules of thumb only where the budget holds far more than them; else they are settings like
    // any other, worth a trial if the model says so.
    const bool rules_too = design_.step() >= 3 && left - reserve >= kRulesFrom;
    if (const auto next_mandatory = board_.next_mandatory(rules_too))
      return board_.propose_mandatory(*next_mandatory);
    if (const auto hint = next_hint(budget)) {
      return board_.propose(*hint, "earlier", "among the fastest of the earlier run");
    }
    if (const auto share = next_share(budget)) {
      return board_.propose(*share, "ladder", "the CPUs shared out among processes");
    }
    if (race_.started() || (left <= reserve && several_work())) return race(left);
    if (board_.baseline() >= 0 && !shares_.empty()) design_.skip_lightest();
    if (design_.step() < max_ladder(budget) - shares_tried_ - static_cast<int>(hinted_.size())) {
      if (const auto point = design_.next(admitted_and_open())) {
        return board_.propose(*point, "ladder", design_.why());
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
    const Acquisition acquisition(board_, forecaster_);
    if (const auto leader = leader_again(acquisition.ranking(), budget, left - reserve / 2)) {
      return board_.propose(*leader, "model", "the leader again, at another moment");
    }
    if (left - reserve >= kTradesFrom) {
      if (const auto point = trade(acquisition.ranking(), budget)) {
        return board_.propose(*point, "model",
                              "fewer processes make room for more of another knob");
      }
    }
    if (const auto point = acquire(acquisition)) {
      return board_.propose(*point, "model", "the largest expected improvement");
    }
    if (!race_.started()) {
      if (const auto point = unchecked(acquisition.ranking())) {
        return board_.propose(*point, "model", "near a leader, in case the model is wrong");
      }
      if (const auto point = far_off(acquisition.ranking(), left)) {
        return board_.propose(*point, "model", "far from all trials, in case the model is wrong");
      }
      if (const auto point = open_question(acquisition.ranking())) {
        return board_.propose(*point, "model", "nothing else may be as much better");
      }
    }
    return race(left);
  }

  std::optional<Proposal> settle(const OpenQuestion& question, double seconds_left) override {
    const int chosen = board_.space->find(question.chosen);
    const int rival = board_.space->find(question.rival);
    if (board_.trials_left(seconds_left) < 1 || chosen < 0 || rival < 0) return std::nullopt;
    seconds_left_ = seconds_left;
    const auto runs = [&](int point) { return board_.ledger.record(point).best_rates().size(); };
    if (!board_.open(rival)) {
      return board_.propose(runs(chosen) < runs(rival) ? chosen : rival, "race",
                            "the leader and its strongest rival, whichever ran less");
    }
    learn();
    forecaster_.explain();
    auto point = towards(rival);
    if (!point)
      point = highest_open(std::log(question.objective) + std::log1p(kMaxOpenGain),
                           forecaster_.wide(), 0, 1, LaunchGate::kFaintChance);
    if (!point) return std::nullopt;
    return board_.propose(*point, "model", "nothing else may be as much better");
  }

 private:
  SearchBoard board_;
  mutable Forecaster forecaster_;
  InitialDesign design_;
  std::vector<int> shares_;  // of the CPUs, around the user's setting
  std::vector<int> hints_;   // left of the earlier run's
  std::vector<int> hinted_;  // tried
  Random random_;
  Race race_;
  double seconds_left_ = 0;
  int shares_tried_ = 0;
  int little_in_a_row_ = 0;
  int pairs_checked_ = 0, others_checked_ = 0, far_checked_ = 0, trades_ = 0;
  std::string explored_ = "budget";

  std::optional<Proposal> stop(std::string reason) {
    board_.stop_reason = std::move(reason);
    return std::nullopt;
  }

  // A race of one would spend the rest of a small budget on what is known.
  bool several_work() const {
    const auto& tried = board_.ledger.tried();
    return std::count_if(tried.begin(), tried.end(),
                         [this](int point) { return board_.ledger.eligible(point); }) > 1;
  }

  void learn() const { forecaster_.update(board_.ledger); }

  // Two CPUs leave little to learn about processes and threads that their shares do not tell.
  int max_ladder(int budget) const {
    const int most = std::clamp(budget / 3, 3, 8);
    if (shares_.empty()) return most;
    const int doublings = static_cast<int>(std::ceil(std::log2(board_.options.cpus)));
    return std::min(most, shares_tried_ + kRungsADoubling * doublings);
  }

  std::function<bool(int)> admitted_and_open() const {
    return [this](int point) {
      return board_.open(point) && board_.safety.admitted(point) && !board_.crowded(point);
    };
  }

  std::function<bool(int)> runnable_and_open() const {
    return [this](int point) {
      return board_.open(point) && board_.runnable(point) && affordable(point) &&
             !board_.crowded(point);
    };
  }

  // The earlier run's word counts as long as it ranks settings as this run does.
  std::optional<int> next_hint(int budget) {
    if (static_cast<int>(hinted_.size()) >= std::max(1, budget / kTrialsAHint)) return std::nullopt;
    if (!hinted_.empty() && !hints_.empty() && !hint_holds()) hints_.clear();
    for (auto hint = hints_.begin(); hint != hints_.end(); ++hint) {
      const int point = *hint;
      if (!board_.open(point) || !board_.runnable(point) || board_.crowded(point)) continue;
      hints_.erase(hint);
      hinted_.push_back(point);
      return point;
    }
    return std::nullopt;
  }

  // The last hint is ahead of the user's setting, and not of the hint before it.
  bool hint_holds() const {
    const Ledger& ledger = board_.ledger;
    const int last = hinted_.back();
    if (!ledger.eligible(last)) return false;
    const double slack = 1 + 2 * ledger.noise(board_.options.expected_noise);
    const int baseline = board_.baseline();
    const double rate = ledger.median_rate(last);
    if (baseline >= 0 && baseline != last && rate * slack < ledger.median_rate(baseline)) {
      return false;
    }
    return hinted_.size() < 2 || rate < slack * ledger.median_rate(hinted_[hinted_.size() - 2]);
  }

  std::optional<int> next_share(int budget) {
    if (shares_tried_ >= std::clamp(budget / 4, 1, kMaxShares)) return std::nullopt;
    for (const int point : shares_) {
      if (!board_.open(point) || !board_.runnable(point)) continue;
      ++shares_tried_;
      return point;
    }
    return std::nullopt;
  }

  // One point in so many is looked at: kScanned of a large space.
  int scan_stride() const { return std::max(1, board_.space->size() / kScanned); }

  // The setting that could be furthest ahead of the best, if that is more than a certificate should
  // leave open. The search does not end before it was tried.
  std::optional<int> open_question(const std::vector<int>& leaders) {
    if (leaders.empty()) return std::nullopt;
    // Part of a large space first; all of it only before the search ends.
    const int stride = scan_stride();
    const auto found = widest_open(leaders[0], board_.ledger.trials() % stride, stride);
    return found || stride == 1 ? found : widest_open(leaders[0], 0, 1);
  }

  std::optional<int> widest_open(int leader, int first, int stride) {
    const double bar = forecaster_.forecast(leader).log_rate + std::log1p(kMaxOpenGain);
    forecaster_.explain();
    return highest_open(bar, forecaster_.wide(), first, stride, kLastChance);
  }

  // The model's word on what no trial was near to is its weakest: what two counts do only together
  // is smooth nowhere that was seen. So of a budget that is left, a few trials go where a wide
  // guess is ahead of the leader.
  std::optional<int> far_off(const std::vector<int>& leaders, int left) {
    if (leaders.empty() || far_checked_ >= kMaxFar) return std::nullopt;
    const bool spare = left > kMaxRaceTrials;
    const double bar = spare ? -1e9 : forecaster_.forecast(leaders[0]).log_rate;
    const int stride = scan_stride();
    const auto found = highest_open(bar, kWideGuess, far_checked_ % stride, stride, kLastChance);
    far_checked_ += found ? 1 : 0;
    return found;
  }

  // The point that could be furthest above `bar`, a logarithm of a rate, `wide` deviations up.
  std::optional<int> highest_open(double bar, double wide, int first, int stride,
                                  double min_chance) const {
    std::optional<int> found;
    for (int point = first; point < board_.space->size(); point += stride) {
      if (!board_.open(point)) continue;
      const SpeedForecast speed = forecaster_.forecast(point);
      const double high = std::max(speed.log_rate + wide * speed.stddev, speed.other_log_rate);
      if (high <= bar || board_.crowded(point) || !may_run(point, min_chance)) continue;
      bar = high;
      found = point;
    }
    return found;
  }

  bool may_run(int point, double min_chance) const {
    const LaunchGate& safety = board_.safety;
    return board_.open(point) && affordable(point) &&
           (safety.admitted(point) || safety.guardable(point, min_chance));
  }

  // `rival`, or where it may not run yet the setting that may and is nearest to it, if that is no
  // further than all that work.
  std::optional<int> towards(int rival) const {
    if (may_run(rival, LaunchGate::kFaintChance)) return rival;
    const Space& space = *board_.space;
    int nearest = std::numeric_limits<int>::max();
    for (const int tried : board_.ledger.tried()) {
      if (board_.ledger.record(tried).works())
        nearest = std::min(nearest, steps_between(space, tried, rival));
    }
    std::optional<int> found;
    double most = 0;
    for (int point = 0; point < space.size(); ++point) {
      const int steps = steps_between(space, point, rival);
      if (steps > nearest || !may_run(point, LaunchGate::kFaintChance)) continue;
      const double high = forecaster_.highest(forecaster_.forecast(point));
      if (found && steps == nearest && high <= most) continue;
      nearest = steps;
      most = high;
      found = point;
    }
    return found;
  }

  std::optional<int> trade(const std::vector<int>& leaders, int budget) {
    if (leaders.empty() || trades_ >= std::max(1, budget / kTrialsATrade)) return std::nullopt;
    const auto found = memory_trade(board_, leaders[0], [this](int point) {
      return may_run(point, kTradeChance) && !board_.crowded(point) &&
             board_.safety.chance_to_fit(point) >= kTradeChance;
    });
    trades_ += found ? 1 : 0;
    return found;
  }

  bool affordable(int point) const {
    const double typical = board_.ledger.expected_trial_seconds(0);
    return board_.trial_seconds(point) <= std::max(typical, seconds_left_);
  }

  std::optional<int> any_open() const {
    const auto allowed = runnable_and_open();
    for (int point = 0; point < board_.space->size(); ++point) {
      if (allowed(point)) return point;
    }
    return std::nullopt;
  }

  // Repeats that would bring a claim's noise down to kClaimError.
  double repeats_wanted() const { return std::pow(forecaster_.noise() / kClaimError, 2); }

  // Trials kept for the race: a tenth; more where a noisy claim needs them and many are left.
  int race_reserve(int budget) const {
    const int least = budget / 10;
    const int most = std::max(least, static_cast<int>(kRaceShare * (budget - kRaceFree)));
    const int wanted = static_cast<int>(std::min(repeats_wanted(), 1e6));
    if (budget < kNoRaceBelow) return 0;
    return std::clamp(std::clamp(wanted, least, most), 2, kMaxRaceTrials) +
           (board_.baseline() >= 0 ? std::min(3, budget / 10) : 0);
  }

  // The best so far, when it is time to run it again. Its repeats are spread over the search: those
  // of a race alone all meet one moment of a machine that drifts, and their mean is wrong with it.
  std::optional<int> leader_again(const std::vector<int>& leaders, int budget, int left) const {
    const int done = board_.ledger.trials();
    const double most = kLeaderShare * (budget - kLeaderFree);
    if (most < 2 || done < kLeaderFrom * budget || leaders.empty()) return std::nullopt;
    const std::vector<int>& times = board_.ledger.record(leaders[0]).best_times();
    const double wanted = std::min(std::max(repeats_wanted(), kMinRepeats), most);
    const double lacking = wanted - static_cast<double>(times.size());
    if (lacking <= 0) return std::nullopt;
    const double gap = std::max(kMinGap, left / lacking);
    if (done - times.back() < gap) return std::nullopt;
    return leaders[0];
  }

  std::optional<int> acquire(const Acquisition& acquisition) {
    const auto found = acquisition.best(random_);
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
        acquisition.chance_of_better(kMuchBetter, random_) < kSmallChance) {
      explored_ = "probability that anything untried is 3 % better is under 5 %";
      return std::nullopt;
    }
    return found->point;
  }

  // Before the model's word ends the search: the untried settings one step from the best tried one,
  // then pairs of words that no trial had together, then what is one step from the next leaders and
  // not far behind even by a wide guess.
  std::optional<int> unchecked(const std::vector<int>& leaders) {
    if (leaders.empty()) return std::nullopt;
    const double bar = forecaster_.forecast(leaders[0]).log_rate;
    auto found = best_candidate(board_.space->neighbours(leaders[0]), -1e9);
    if (!found && pairs_checked_ < kMaxPairChecks) {
      found = best_candidate(new_pairs(*board_.space, board_.ledger, leaders[0]), -1e9);
      pairs_checked_ += found ? 1 : 0;
    }
    std::vector<int> others;
    for (std::size_t i = 1; i < std::min(leaders.size(), kLeadersToCheck); ++i) {
      const std::vector<int> near = board_.space->neighbours(leaders[i]);
      others.insert(others.end(), near.begin(), near.end());
    }
    if (!found && others_checked_ < kMaxOthers) {
      found = best_candidate(others, bar);
      others_checked_ += found ? 1 : 0;
    }
    return found;
  }

  // Of those that may run, the one that could be fastest, if it could pass `bar`.
  std::optional<int> best_candidate(const std::vector<int>& points, double bar) const {
    const auto allowed = runnable_and_open();
    std::optional<int> found;
    for (const int point : points) {
      if (!allowed(point)) continue;
      const SpeedForecast speed = forecaster_.forecast(point);
      const double high = speed.log_rate + kWideGuess * speed.stddev;
      if (high < bar) continue;
      found = point;
      bar = high;
    }
    return found;
  }

  std::optional<Proposal> race(int left) {
    if (!race_.started()) {
      learn();
      std::vector<int> leaders = Acquisition(board_, forecaster_).ranking();
      if (leaders.empty()) return stop("no setting works");
      const int runners = std::clamp((left + 1) / 3, 2, 8);
      if (leaders.size() > static_cast<std::size_t>(runners)) leaders.resize(runners);
      race_ = Race(std::move(leaders),
                   {kMaxRaceTrials, 0.004, board_.options.seed + 1, board_.baseline()});
    }
    learn();
    const auto standing = [this](int point) {
      const SpeedForecast speed = forecaster_.forecast(point);
      return Standing{speed.log_rate, speed.stddev};
    };
    const auto point = race_.next(board_.ledger, standing, left);
    if (!point) {
      const std::vector<int> leaders = Acquisition(board_, forecaster_).ranking();
      if (const auto more = open_question(leaders)) {
        return board_.propose(*more, "model", "nothing else may be as much better");
      }
      return stop(explored_);
    }
    Proposal proposal =
        board_.propose(*point, "race", fmt::format("round {} of the leaders", race_.round()));
    proposal.round = race_.round();
    return proposal;
  }
};

}  // namespace

std::unique_ptr<Search> make_model_search(const Space& space, const SearchOptions& options) {
  return std::make_unique<ModelSearch>(space, options);
}

}  // namespace ocrtune
