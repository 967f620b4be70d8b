// What every strategy keeps: the ledger, the safe set, and the words it ends with.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/stats.h"
#include "tuner/models/launch_gate.h"
#include "tuner/models/ledger.h"
#include "tuner/models/repeats.h"
#include "tuner/search/initial_design.h"
#include "tuner/search/race.h"
#include "tuner/search/search.h"

namespace ocrtune {

struct SearchBoard {
  static constexpr double kBusyShare = 0.9;  // of the CPUs: what more can be had is under 10 %

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
  LaunchGate safety;
  std::vector<int> always;  // the points of options.first
  std::string stop_reason;
  int last_round = 0;  // of any race, as Trial::round

  void tell(const Trial& trial) {
    const int point = ledger.add(trial);
    if (point >= 0) safety.tell(point, trial);
    last_round = std::max(last_round, trial.round);
  }

  // May be run now: admitted, or one step of guarded exploration.
  bool runnable(int point) const { return safety.admitted(point) || safety.guardable(point); }

  // Untried. A point whose samples were all discarded is not run again at once: it comes back
  // through the race or the model, where it competes with the points that nothing is known of.
  bool open(int point) const { return !ledger.record(point).tried(); }
  bool discarded_only(int point) const {
    const PointRecord& record = ledger.record(point);
    return record.rates.empty() && record.failures == 0 && record.discarded > 0 &&
           record.discarded < 3;
  }

  // What a tried setting can keep busy at most.
  int cpus_of(int tried) const {
    const int bound = ledger.bound_cpus(space->knobs(tried).nproc);
    return bound > 0 ? std::min(bound, options.cpus) : options.cpus;
  }

  // More processes and threads than another setting that has all CPUs busy by itself: they can only
  // take turns. Such a setting is not worth a trial, whatever a model hopes of it; but an answer
  // needs a second one to be compared with, whichever it is.
  bool crowded(int point) const {
    const auto working = std::count_if(ledger.tried().begin(), ledger.tried().end(),
                                       [&](int tried) { return ledger.record(tried).works(); });
    return working >= 2 && only_takes_turns(point);
  }

  bool only_takes_turns(int point) const {
    if (options.cpus <= 0 || options.objective.goal != Goal::throughput) return false;
    const Knobs& more = space->knobs(point);
    return std::any_of(ledger.tried().begin(), ledger.tried().end(), [&](int tried) {
      const Knobs& seen = space->knobs(tried);
      const int cpus = cpus_of(tried);
      if (cpus < options.cpus && more.nproc > seen.nproc) return false;  // may bind otherwise
      return more.nproc >= seen.nproc && more.threads >= seen.threads &&
             more.nproc * more.threads > seen.nproc * seen.threads &&
             seen.nproc * seen.threads >= cpus && ledger.record(tried).works() &&
             ledger.busy_cpus(tried) >= kBusyShare * cpus;
    });
  }

  // What a setting that only takes turns may reach at most, by the CPU time that a sample takes;
  // infinity for others.
  double max_rate(int point) const {
    if (!only_takes_turns(point)) return std::numeric_limits<double>::infinity();
    double most = 0;
    for (int tried : ledger.tried()) {
      const double busy = ledger.busy_cpus(tried);
      if (busy > 0) most = std::max(most, ledger.median_rate(tried) * cpus_of(tried) / busy);
    }
    return most;
  }

  // The user's setting, for the race; -1: none, or it does not work.
  int baseline() const {
    return always.empty() || !ledger.record(always[0]).works() ? -1 : always[0];
  }

  // Two trials of the user's setting are so far apart that nothing shows which of them to believe
  // (tuner/verdict/rate_fit.h): a third one does.
  bool baseline_is_torn() const {
    const int point = baseline();
    if (point < 0) return false;
    const std::vector<double>& rates = ledger.record(point).samples_per_second;  // disturbed or not
    if (rates.size() != 2 || ledger.record(point).trials != 2) return false;
    const double apart = spread_of_two(std::log(rates[0]), std::log(rates[1]));
    return apart > kFarOff * ledger.noise(options.expected_noise);
  }

  // What a trial of this point will take: processes beyond the CPUs start one after the other.
  double trial_seconds(int point) const {
    if (options.cpus <= 0) return ledger.expected_trial_seconds(options.first_trial_seconds);
    const double cpus = options.cpus;
    const double crowd = std::max(1.0, space->knobs(point).nproc / cpus);
    return ledger.expected_trial_seconds(options.first_trial_seconds) *
           (1 + ledger.start_share() * (crowd - 1));
  }

  // What has to be done before a strategy may choose: the confirming retry of a crash, the user's
  // setting (the first of all: it is what runs today; once more where it is torn), and, once
  // `rules_too`, the other always-measured ones; each as soon as it is admitted, after the lightest
  // setting if that is what it takes to know.
  std::optional<int> next_mandatory(bool rules_too = true) const {
    const int retry = safety.point_to_confirm();
    if (retry >= 0) return retry;
    if (baseline_is_torn()) return baseline();
    const int lightest = safety.lightest();
    bool waiting = false;
    for (int point : always) {
      if (!open(point)) continue;
      if (point != always[0] && !rules_too) break;
      const bool as_today =
          point == always[0] && safety.knows_nothing() && options.safety.memory.guards;
      if (as_today || safety.admitted(point)) return point;
      waiting = true;
    }
    if (waiting && lightest >= 0 && open(lightest) && safety.admitted(lightest)) return lightest;
    return std::nullopt;
  }

  int trials_left(double seconds_left) const {
    const double each = ledger.expected_trial_seconds(options.first_trial_seconds);
    // A trial that the end of the budget shortens by less than half still counts.
    const int left = each > 0 ? static_cast<int>(seconds_left / each + 0.4) : 1000000;
    return ledger.trials() == 0 ? std::max(1, left) : left;  // nothing was timed: one is tried
  }

  // How the CPUs are shared out around the user's setting; empty: none was given, or it is of GPUs.
  std::vector<int> cpu_shares_of_baseline() const {
    if (always.empty() || options.cpus < 2 || space->knobs(always[0]).backend == "cuda") return {};
    return cpu_shares(*space, space->knobs(always[0]), options.cpus);
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
    Proposal proposal{space->knobs(point), std::move(phase), std::move(why)};
    // The user's own setting may use what margin there is.
    const bool own = !always.empty() && point == always[0];
    const bool guarded = options.safety.memory.guards && options.safety.limit_bytes > 0;
    if (guarded && open(point) && !own) {
      proposal.guard_bytes = static_cast<std::uint64_t>(safety.usable_bytes());
    }
    return proposal;
  }

  Proposal propose_mandatory(int point) const {
    if (point == safety.point_to_confirm()) {
      return propose(point, "ladder", "runs a failed setting once more, to tell a cap from chance");
    }
    if (!always.empty() && point == always[0]) {
      return propose(point, "baseline",
                     baseline_is_torn() ? "once more: its two trials are far apart"
                                        : "the setting that others are compared with");
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
      prediction.reason = reason<ReasonCode::not_in_space>();
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
