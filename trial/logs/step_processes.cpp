// Reports of different processes are never lined up, since their clocks and step lengths differ.
// Each has a rate since the clock process's last report, and the sum of the rates is the job's.
#include "trial/logs/step_processes.h"

#include <algorithm>

namespace ocrtune {
namespace {

// An evaluation or a checkpoint keeps a process for some steps.
constexpr double kSilentSteps = 10, kMinSilentSeconds = 5;

}  // namespace

bool StepProcesses::Share::silent_at(double now_seconds) const {
  return now_seconds - heard > std::max(kMinSilentSeconds, kSilentSteps * longest);
}

std::optional<LogReading> StepProcesses::add(const StepEvent& step, double now_seconds) {
  // Before the clock is looked at, so that a silent clock is replaced in the same call.
  std::erase_if(shares_, [&](const auto& one) { return one.second.silent_at(now_seconds); });
  Share& own = shares_[step.rank];
  own.samples += static_cast<double>(step.samples);
  own.seconds += step.seconds;
  own.heard = now_seconds;
  own.longest = std::max(own.longest, step.seconds);
  if (!clock_ || !shares_.contains(*clock_)) clock_ = step.rank;
  if (*clock_ != step.rank) return std::nullopt;
  double rate = 0;
  for (auto& [process, share] : shares_) {
    // A process that reports more rarely keeps its last rate.
    if (share.seconds > 0) share.rate = share.samples / share.seconds;
    rate += share.rate;
    share.samples = share.seconds = 0;
  }
  LogReading reading;
  reading.seconds = step.seconds;
  reading.samples = rate * step.seconds;
  reading.steps = static_cast<double>(step.steps);
  return reading;
}

}  // namespace ocrtune
