// Memory of the rehearsal goes to the setting, and its surplus to all settings that were not
// rehearsed. Its time is that of a step beyond what a step takes in trials.
#include "tuner/verdict/rehearsal.h"

#include <algorithm>
#include <cstdint>

#include "diagnosis/diagnosis.h"
#include "trial/workloads/command/command_workload.h"

namespace ocrtune {
namespace {

// Seconds of one evaluation with its checkpoint: what a step takes longer than without them, times
// the steps from one to the next. Programs leave them out of the rates that they print: the wall
// clock of the windows has them. Below 0: no whole one was seen.
double pause_seconds(const Trial& rehearsal, double step_seconds) {
  constexpr std::int64_t kEnough = std::int64_t{2} * kRehearsalSteps;
  std::int64_t steps = 0;
  double seconds = 0;
  for (const Sample& sample : rehearsal.samples) {
    if (sample.interference.observed_seconds <= 0) continue;
    steps += sample.steps;
    seconds += sample.interference.observed_seconds;
  }
  // One that was stopped at its time has shown its steps all the same.
  const bool judged = rehearsal.ok() || rehearsal.outcome == Outcome::timed_out;
  if (!judged || steps < kEnough || step_seconds <= 0) return -1;
  return std::max(0.0, kRehearsalSteps * (seconds / static_cast<double>(steps) - step_seconds));
}

// Why it failed, with the line of its log that says so.
std::string failure_words(const Trial& rehearsal) {
  const Diagnosis found = diagnose_text(rehearsal.log_tail, rehearsal.counters);
  if (!found.failed || found.causes.empty() || found.causes[0].evidence.empty()) {
    return rehearsal.reason;
  }
  const std::string& said = found.causes[0].evidence[0].text;
  const bool known = rehearsal.reason.find(said) != std::string::npos;
  return known ? rehearsal.reason : rehearsal.reason + ": " + said;
}

}  // namespace

std::uint64_t weigh_rehearsals(const std::vector<Trial>& rehearsals,
                               std::vector<Setting>& settings) {
  std::uint64_t most = 0;  // that a rehearsal took beyond its setting's other trials
  for (const Setting& setting : settings) {
    const Trial* rehearsal = latest_of(rehearsals, setting.summary.knobs);
    if (rehearsal == nullptr || rehearsal->peak_bytes < setting.summary.peak_bytes) continue;
    most = std::max(most, rehearsal->peak_bytes - setting.summary.peak_bytes);
  }
  weigh_beside(rehearsals, settings);
  for (Setting& setting : settings) {
    SettingSummary& summary = setting.summary;
    if (summary.peak_bytes == 0 || latest_of(rehearsals, summary.knobs) != nullptr) continue;
    summary.peak_bytes += most;
    if (summary.host.peak > 0) summary.host.peak += most;
    summary.host.possible += most;
  }
  return most;
}

Reason rehearsal_reason(const std::vector<Trial>& rehearsals, const Setting& setting,
                        int every_steps, std::uint64_t most) {
  const Trial* found = latest_of(rehearsals, setting.summary.knobs);
  if (found == nullptr && most == 0) return {};
  if (found == nullptr) {
    return reason<ReasonCode::rehearsed_elsewhere>(in_bytes(static_cast<double>(most)));
  }
  const Number peak = in_bytes(static_cast<double>(found->peak_bytes));
  const double rate = setting.summary.samples_per_second.median;
  const Knobs& knobs = setting.summary.knobs;
  const double step = rate > 0 ? static_cast<double>(knobs.nproc) * knobs.batch / rate : 0;
  const double pause = pause_seconds(*found, step);
  if (pause < 0) {
    const bool endless = found->ok() || found->outcome == Outcome::timed_out;
    if (!endless) return reason<ReasonCode::rehearsal_failed>(verbatim(failure_words(*found)));
    return reason<ReasonCode::rehearsal_not_over>(in_seconds(found->seconds), peak);
  }
  if (every_steps <= 0 || knobs.absent.contains("batch"))
    return reason<ReasonCode::rehearsed>(in_seconds(pause), peak);
  return reason<ReasonCode::rehearsed_share>(in_seconds(pause), peak, counted(every_steps),
                                             in_percent(pause / (pause + every_steps * step)));
}

}  // namespace ocrtune
