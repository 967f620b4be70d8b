// The untried settings: which may run now, which could be the fastest, and which to run in case the
// model is wrong.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "tuner/models/forecaster.h"
#include "tuner/search/budget_shares.h"
#include "tuner/search/search_board.h"

namespace ocrtune {

class Candidates {
  static constexpr double kAnyRate = -1e9;           // logarithm of a rate: below any
  static constexpr double kLastChance = 0.02;        // to fit, under a guard, all else known; guess
  static constexpr double kWideGuess = 5;            // deviations that a model may be off; guess
  static constexpr int kScanned = 600;               // points that one proposal looks at; guess
  static constexpr std::size_t kLeadersToCheck = 5;  // guess
  static constexpr int kMaxPairChecks = 12, kMaxOthers = 12, kMaxFar = 8;  // trials; guesses

 public:
  // Both must outlive this; the forecaster has learned from the board's ledger.
  Candidates(const SearchBoard& board, Forecaster& forecaster)
      : board_(board),
        space_(*board.space),
        forecaster_(forecaster),
        stride_(std::max(1, space_.size() / kScanned)) {}

  void set_seconds_left(double seconds) { seconds_left_ = seconds; }

  // Untried, the rest of the budget holds it, and it fits or may run under a guard with at least
  // this chance to fit.
  bool may_run(int point, double min_chance = LaunchGate::kWorthAGuard) const {
    if (!board_.open(point)) return false;
    const double typical = board_.ledger.expected_trial_seconds(0);
    return board_.trial_seconds(point) <= std::max(typical, seconds_left_) &&
           (board_.safety.admitted(point) || board_.safety.guardable(point, min_chance));
  }
  bool worth_a_trial(int point, double min_chance = LaunchGate::kWorthAGuard) const {
    return !board_.crowded(point) && may_run(point, min_chance);
  }
  std::optional<int> any() const {
    for (int point = 0; point < space_.size(); ++point) {
      if (worth_a_trial(point)) return point;
    }
    return std::nullopt;
  }

  // The setting that could be furthest ahead of the leader, if by more than a certificate should
  // leave open. Part of a large space is looked at first; all of it only where that holds none.
  std::optional<int> open_question(const std::vector<int>& leaders) {
    if (leaders.empty()) return std::nullopt;
    const double bar = forecaster_.forecast(leaders[0]).log_rate + std::log1p(kMaxOpenGain);
    forecaster_.explain();
    const double wide = forecaster_.wide();
    const auto found = highest(bar, wide, board_.ledger.trials() % stride_, stride_, kLastChance);
    return found || stride_ == 1 ? found : highest(bar, wide, 0, 1, kLastChance);
  }

  // `rival`, or where it may not run yet the setting that may and is nearest to it, if that is no
  // further than all that work; else any that may be so much faster than `rate`.
  std::optional<int> towards(int rival, double rate) {
    forecaster_.explain();
    if (may_run(rival, LaunchGate::kFaintChance)) return rival;
    int nearest = std::numeric_limits<int>::max();
    for (const int tried : board_.ledger.tried()) {
      if (board_.ledger.record(tried).works()) nearest = std::min(nearest, steps(tried, rival));
    }
    std::optional<int> found;
    double most = 0;
    for (int point = 0; point < space_.size(); ++point) {
      const int away = steps(point, rival);
      if (away > nearest || !may_run(point, LaunchGate::kFaintChance)) continue;
      const double high = forecaster_.highest(forecaster_.forecast(point));
      if (found && away == nearest && high <= most) continue;
      nearest = away;
      most = high;
      found = point;
    }
    const double bar = std::log(rate) + std::log1p(kMaxOpenGain);
    return found ? found : highest(bar, forecaster_.wide(), 0, 1, LaunchGate::kFaintChance);
  }

  // The untried settings one step from the best, then pairs of words that no trial had together,
  // then what is one step from the next leaders and not behind the best even by a wide guess.
  std::optional<int> near_leaders(const std::vector<int>& leaders) {
    if (leaders.empty()) return std::nullopt;
    auto found = best_of(space_.neighbours(leaders[0]), kAnyRate);
    if (!found && pairs_checked_ < kMaxPairChecks) {
      found = best_of(new_pairs(leaders[0]), kAnyRate);
      pairs_checked_ += found ? 1 : 0;
    }
    if (found || others_checked_ >= kMaxOthers) return found;
    std::vector<int> others;
    for (std::size_t i = 1; i < std::min(leaders.size(), kLeadersToCheck); ++i) {
      const std::vector<int> near = space_.neighbours(leaders[i]);
      others.insert(others.end(), near.begin(), near.end());
    }
    found = best_of(others, forecaster_.forecast(leaders[0]).log_rate);
    others_checked_ += found ? 1 : 0;
    return found;
  }

  // The model extrapolates poorly, above all to interactions that no trial has shown. So a few
  // trials go where a wide guess is highest: ahead of the leader, or anywhere if many are left.
  std::optional<int> far_off(const std::vector<int>& leaders, const BudgetShares& trials) {
    if (leaders.empty() || far_checked_ >= kMaxFar) return std::nullopt;
    const bool spare = trials.left > BudgetShares::kMaxRaceTrials;
    const double bar = spare ? kAnyRate : forecaster_.forecast(leaders[0]).log_rate;
    const auto found = highest(bar, kWideGuess, far_checked_ % stride_, stride_, kLastChance);
    far_checked_ += found ? 1 : 0;
    return found;
  }

 private:
  const SearchBoard& board_;
  const Space& space_;
  Forecaster& forecaster_;
  int stride_;  // of the points of a large space, one in so many is looked at
  double seconds_left_ = 0;
  int pairs_checked_ = 0, others_checked_ = 0, far_checked_ = 0;

  // The point that could be furthest above `bar`, a logarithm of a rate, `wide` deviations up.
  std::optional<int> highest(double bar, double wide, int first, int stride,
                             double min_chance) const {
    std::optional<int> found;
    for (int point = first; point < space_.size(); point += stride) {
      if (!board_.open(point)) continue;
      const SpeedForecast speed = forecaster_.forecast(point);
      const double high = std::max(speed.log_rate + wide * speed.stddev, speed.other_log_rate);
      if (high <= bar || !worth_a_trial(point, min_chance)) continue;
      bar = high;
      found = point;
    }
    return found;
  }

  // Of these, the one that could be fastest, if it could reach `bar`.
  std::optional<int> best_of(const std::vector<int>& points, double bar) const {
    std::optional<int> found;
    for (const int point : points) {
      if (!worth_a_trial(point)) continue;
      const SpeedForecast speed = forecaster_.forecast(point);
      const double high = speed.log_rate + kWideGuess * speed.stddev;
      if (high < bar) continue;
      found = point;
      bar = high;
    }
    return found;
  }

  // `point` with two of its words replaced by a pair that no working trial had: what two words do
  // together cannot be told from either.
  std::vector<int> new_pairs(int point) const {
    std::vector<std::size_t> words;
    for (std::size_t axis = 0; axis < space_.axes().size(); ++axis) {
      if (space_.axes()[axis].scale == KnobScale::category) words.push_back(axis);
    }
    std::vector<int> points;
    std::vector<int> place = space_.place(point);
    const auto was_met = [&](std::size_t a, std::size_t b) {
      return std::any_of(board_.ledger.tried().begin(), board_.ledger.tried().end(), [&](int at) {
        return space_.place(at)[a] == place[a] && space_.place(at)[b] == place[b] &&
               board_.ledger.record(at).works();
      });
    };
    for (std::size_t i = 0; i < words.size(); ++i) {
      for (std::size_t j = i + 1; j < words.size(); ++j) {
        const std::size_t a = words[i], b = words[j];
        const auto values = [&](std::size_t axis) {
          return static_cast<int>(space_.axes()[axis].values.size());
        };
        for (place[a] = 0; place[a] < values(a); ++place[a]) {
          for (place[b] = 0; place[b] < values(b); ++place[b]) {
            const int other = was_met(a, b) ? -1 : space_.at(place);
            if (other >= 0) points.push_back(other);
          }
        }
        place = space_.place(point);
      }
    }
    return points;
  }

  int steps(int a, int b) const {
    int sum = 0;
    for (std::size_t i = 0; i < space_.axes().size(); ++i) {
      sum += std::abs(space_.place(a)[i] - space_.place(b)[i]);
    }
    return sum;
  }
};

}  // namespace ocrtune
