// Which processes of a trial have ended, and when a failure ends the trial.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "trial/watch/trial_verdict.h"

namespace ocrtune {

class ExitWatch {
  static constexpr double kSettleSeconds = 0.3;  // to hear what the other ranks say; guess

 public:
  // The exit of process `i`; empty while it runs.
  using Poll = std::function<std::optional<ProcessExit>(std::size_t i)>;

  explicit ExitWatch(Poll poll) : poll_(std::move(poll)) {}

  void add_process() { ended_.push_back(false); }
  // A failure that something else than an exit has shown.
  void fail(double now) { failed_at_ = failed_at_.value_or(now); }
  bool failing() const { return failed_at_.has_value(); }
  bool all_ended() const { return exits_.size() == ended_.size(); }
  const std::vector<RankExit>& exits() const { return exits_; }  // in order

  // The processes are given some time to say why, unless all have ended. A clean end is a failure
  // too: no process was asked to end.
  std::optional<TrialStop> look(double now) {
    for (std::size_t i = 0; i < ended_.size(); ++i) {
      const auto exit = ended_[i] ? std::nullopt : poll_(i);
      if (!exit) continue;
      ended_[i] = true;
      exits_.push_back({static_cast<int>(i), *exit});
      fail(now);
    }
    if (!failing() || (!all_ended() && now - *failed_at_ <= kSettleSeconds)) return std::nullopt;
    return TrialStop{};
  }

 private:
  Poll poll_;
  std::vector<bool> ended_;
  std::vector<RankExit> exits_;
  std::optional<double> failed_at_;
};

}  // namespace ocrtune
