// What every strategy keeps: the ledger, the safe set, and the words it ends with.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/stats.h"
#include "tuner/models/ledger.h"
#include "tuner/models/safety.h"
#include "tuner/search/race.h"
#include "tuner/search/search.h"

namespace ocrtune {

struct SearchBoard {
  SearchBoard(const Space& space_, const SearchOptions& options_)
      : space(&space_),
        options(options_),
        ledger(space_, options_.objective),
        safety(space_, options_.safety) {
    for (const Knobs& knobs : options.first) {
      const int point = space->find(knobs);
      if (point >= 0) always.push_back(point);
    }
  }

  const Space* space;
  SearchOptions options;
  Ledger ledger;
  Safety safety;
  std::vector<int> always;  // the points of options.first
  std::string stop_reason;

  void tell(const Trial& trial) {
    const int point = ledger.add(trial);
    if (point >= 0) safety.tell(point, trial);
  }

  // Untried. A point whose samples were all discarded is not run again at once: it comes back
  // through the race or the model, where it competes with the points that nothing is known of.
  bool open(int point) const { return !ledger.record(point).tried(); }
  bool discarded_only(int point) const {
    const PointRecord& record = ledger.record(point);
    return record.rates.empty() && record.failures == 0 && record.discarded > 0 &&
           record.discarded < 3;
  }

  // The user's setting, for the race; -1: none, or it does not work.
  int baseline() const {
    return always.empty() || !ledger.record(always[0]).works() ? -1 : always[0];
  }

  // What has to be done before a strategy may choose: the confirming retry of a crash, the user's
  // setting, and, once `rules_too`, the other always-measured ones; each as soon as it is admitted,
  // after the lightest setting if that is what it takes to know.
  std::optional<int> next_mandatory(bool rules_too = true) const {
    const int retry = safety.point_to_confirm();
    if (retry >= 0) return retry;
    const int lightest = safety.lightest();
    bool waiting = false;
    for (int point : always) {
      if (!open(point)) continue;
      if (point != always[0] && !rules_too) break;
      if (safety.admitted(point)) return point;
      waiting = true;
    }
    if (waiting && lightest >= 0 && open(lightest) && safety.admitted(lightest)) {
      return lightest;
    }
    return std::nullopt;
  }

  int trials_left(double seconds_left) const {
    const double each = ledger.expected_trial_seconds(options.first_trial_seconds);
    const int left = each > 0 ? static_cast<int>(seconds_left / each + 1e-9) : 1000000;
    return ledger.trials() == 0 ? std::max(1, left) : left;  // nothing was timed: one is tried
  }

  // Standings from a point's own repeats, with the noise pooled over all points.
  StandingOf own_standing() const {
    return [this](int point) {
      const auto& rates = ledger.record(point).best_rates();
      if (rates.empty()) return Standing{-1e9, 1};
      // Of three and more the middle one: other load only ever slows a trial.
      double sum = 0;
      for (double rate : rates) sum += std::log(rate);
      const auto count = static_cast<double>(rates.size());
      const double centre = rates.size() > 2 ? std::log(median(rates)) : sum / count;
      return Standing{centre, ledger.noise(options.expected_noise) / std::sqrt(count)};
    };
  }

  Proposal propose(int point, std::string phase, std::string why) const {
    Proposal proposal{space->knobs(point), std::move(phase), std::move(why), 0, 0};
    proposal.expected_samples_per_second = ledger.median_rate(point);
    proposal.expected_peak_bytes = safety.forecast(point).bytes;
    return proposal;
  }

  Proposal propose_mandatory(int point) const {
    if (point == safety.point_to_confirm()) {
      return propose(point, "ladder", "runs a failed setting once more, to tell a cap from chance");
    }
    if (!always.empty() && point == always[0]) {
      return propose(point, "baseline", "the setting that others are compared with");
    }
    for (int rule : always) {
      if (rule == point) return propose(point, "rule", "what a rule of thumb would set");
    }
    return propose(point, "ladder", "the lightest setting: what one process needs");
  }

  // What has been measured, as a prediction; strategies with a model know more.
  Prediction measured(const Knobs& knobs) const {
    Prediction prediction;
    const int point = space->find(knobs);
    if (point < 0) {
      prediction.admitted = false;
      prediction.may_work = false;
      prediction.reason = "not in the declared space";
      return prediction;
    }
    const Admission admission = safety.admit(point);
    prediction.memory = admission.memory;
    prediction.admitted = admission.admitted;
    prediction.may_work = admission.may_work;
    prediction.reason = admission.reason;
    return prediction;
  }
};

}  // namespace ocrtune
