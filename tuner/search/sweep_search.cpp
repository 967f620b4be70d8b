// Small spaces: every setting once, then rounds over those that could still be the best.
//
// Exact where the noise allows it, and simple. Meant for at most about 150 points. A budget that
// does not hold a trial for each leaves the choice to the model search.
//
// A model search runs beside the sweep and is told all trials. It takes over where the budget does
// not hold every setting, and it predicts as long as one is untried.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "base/stats.h"
#include "tuner/search/race.h"
#include "tuner/search/search.h"
#include "tuner/search/search_board.h"

namespace ocrtune {
namespace {

// Both are guesses.
constexpr double kTrialsPerPoint = 2.5;  // no more than this over the whole space
constexpr double kStillPossible = 3.0;   // standard errors behind the best at which a point leaves

class SweepSearch : public Search {
 public:
  SweepSearch(const Space& space, const SearchOptions& options)
      : board_(space, options), model_(make_model_search(space, options)), random_(options.seed) {
    shares_ = board_.cpu_shares_of_baseline();
  }

  void tell(const Trial& trial) override {
    board_.tell(trial);
    model_->tell(trial);
  }
  std::string stop_reason() const override {
    return by_model_ ? model_->stop_reason() : board_.stop_reason;
  }
  const Objective& objective() const override { return board_.options.objective; }
  // The model speaks while a setting is untried, also of a stored run whose trials are told again.
  Prediction predict(const Knobs& knobs) const override {
    return any_open() ? model_->predict(knobs) : board_.measured(knobs);
  }
  std::vector<FittedTerm> terms() const override {
    return any_open() ? model_->terms() : std::vector<FittedTerm>();
  }

  std::optional<Proposal> next(double seconds_left) override {
    const int left = board_.trials_left(seconds_left);
    const int untried = race_.started() ? 0 : count_open();
    // Once and for all: a sweep that changes its mind would leave holes.
    if (untried > 0 && left < untried + kReserve) by_model_ = true;
    if (by_model_) return model_->next(seconds_left);
    if (left < 1) return stop("budget");
    // Rules of thumb wait for four trials, which may show that they do not fit.
    if (const auto next_mandatory = board_.next_mandatory(board_.ledger.trials() >= 4))
      return board_.propose_mandatory(*next_mandatory);
    if (const auto point = next_open())
      return board_.propose(*point, "sweep", "every setting once");
    return race(left);
  }

  std::optional<Proposal> settle(const OpenQuestion& question, double seconds_left) override {
    return model_->settle(question, seconds_left);
  }

 private:
  static constexpr int kReserve = 6;  // trials of the race
  SearchBoard board_;
  std::unique_ptr<Search> model_;
  std::vector<int> shares_;
  bool by_model_ = false;  // the budget does not hold every setting
  Random random_;
  Race race_;
  int rounds_before_ = 0;  // of other races, which were run at another time

  std::optional<Proposal> stop(std::string reason) {
    board_.stop_reason = std::move(reason);
    return std::nullopt;
  }

  bool may_run(int point) const { return board_.open(point) && board_.runnable(point); }

  bool any_open() const {
    for (int point = 0; point < board_.space->size(); ++point) {
      if (may_run(point)) return true;
    }
    return false;
  }

  int count_open() const {
    int count = 0;
    for (int point = 0; point < board_.space->size(); ++point) count += may_run(point) ? 1 : 0;
    return count;
  }

  // Any admitted untried point, at random, so that drift does not follow an axis; before anything
  // has run, the lightest.
  std::optional<int> next_open() {
    std::vector<int> open;
    for (int point = 0; point < board_.space->size(); ++point) {
      if (may_run(point)) open.push_back(point);
    }
    if (open.empty()) return std::nullopt;
    const int lightest = board_.safety.lightest();
    // It shows what memory one process needs, at the least risk.
    if (board_.ledger.trials() == 0 && board_.open(lightest)) return lightest;
    // What matters most, first: the budget may turn out to hold less.
    for (const int share : shares_) {
      if (may_run(share)) return share;
    }
    return open[static_cast<std::size_t>(
        random_.integer(0, static_cast<std::int64_t>(open.size()) - 1))];
  }

  std::optional<Proposal> race(int left) {
    const int most = static_cast<int>(kTrialsPerPoint * board_.space->size());
    // The race gets what the whole sweep may have less what it has run.
    const int allowed = std::min(left, std::max(most, kReserve) - board_.ledger.trials());
    if (!race_.started()) {
      rounds_before_ = board_.last_round;
      std::vector<int> leaders = possible_best();
      if (leaders.empty()) return stop("no setting works");
      race_ = Race(std::move(leaders),
                   {std::max(most, kReserve), 0.002, board_.options.seed + 1, board_.baseline()});
    }
    const auto point = race_.next(board_.ledger, board_.own_standing(), allowed);
    if (!point) return stop(left < 1 ? "budget" : "all settings tried and the leaders raced");
    Proposal turn =
        board_.propose(*point, "race", fmt::format("round {} of the leaders", race_.round()));
    turn.round = rounds_before_ + race_.round();
    return turn;
  }

  std::vector<int> possible_best() const {
    const Ledger& ledger = board_.ledger;
    const int best = ledger.best();
    std::vector<int> leaders;
    if (best < 0) return leaders;
    const double noise = ledger.noise(board_.options.expected_noise);
    for (int point : ledger.tried()) {
      const PointRecord& record = ledger.record(point);
      if (!ledger.eligible(point)) continue;
      const double behind = std::log(ledger.median_rate(best) / ledger.median_rate(point));
      // One trial of the best, and as many of this one as it has.
      const double error = noise * std::sqrt(1.0 + 1.0 / static_cast<double>(record.trials));
      if (behind <= kStillPossible * error) leaders.push_back(point);
    }
    std::sort(leaders.begin(), leaders.end(),
              [&](int a, int b) { return ledger.median_rate(a) > ledger.median_rate(b); });
    return leaders;
  }
};

}  // namespace

std::unique_ptr<Search> make_sweep_search(const Space& space, const SearchOptions& options) {
  return std::make_unique<SweepSearch>(space, options);
}

}  // namespace ocrtune
