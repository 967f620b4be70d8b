// The settings are filled into the command by the same code as a trial's, so that what is shown is
// what would be started. Nothing is run.
#include "cli/tune/dry_run.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/plural.h"
#include "base/text.h"
#include "trial/workloads/command/command_prepare.h"
#include "tuner/job/job_workload.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxShown = 12;  // settings of the text; the document has all

struct PlannedSetting {
  Knobs knobs;
  std::vector<std::string> lines;  // as a shell would start it
};

// The baseline first; at most `most` settings. Empty for the built-in engine, which starts itself.
Result<std::vector<PlannedSetting>> planned_settings(const Job& job, const SearchRequest& search,
                                                     const Machine& machine, const Space& space,
                                                     std::size_t most) {
  std::vector<PlannedSetting> planned;
  if (job.command().empty()) return planned;
  const auto prepared = OCRTUNE_TRY(prepared_command(user_command(job, search), machine));
  std::vector<Knobs> settings = {search.baseline};
  for (const Knobs& knobs : space.points()) {
    if (knobs != search.baseline) settings.push_back(knobs);
  }
  // The text shows a dozen, the document all: only those are filled in.
  for (std::size_t i = 0; i < std::min(settings.size(), most); ++i) {
    planned.push_back({settings[i], dry_run_lines(prepared, machine, settings[i])});
  }
  return planned;
}

// What a trial costs and how many the budget pays for.
std::string cost_text(const Job& job, const SearchRequest& search, const TuneSetup& setup) {
  const double budget = search.budget_seconds, measuring = search.trial_seconds;
  if (!job.prints()) {
    return fmt::format("a trial costs about {}, the budget of {} pays for about {:.0f}",
                       format_duration(setup.search.first_trial_seconds), format_duration(budget),
                       budget / setup.search.first_trial_seconds);
  }
  // A small script and a framework with its first batches.
  constexpr double kQuickStart = 2, kSlowStart = 25;
  return fmt::format(
      "a trial measures for about {} after the program's own start, which the first trial finds "
      "out; with {} to {} of start the budget of {} pays for about {:.0f} to {:.0f}",
      format_duration(measuring), format_duration(kQuickStart), format_duration(kSlowStart),
      format_duration(budget), std::max(1.0, budget / (measuring + kSlowStart)),
      std::max(1.0, budget / (measuring + kQuickStart)));
}

}  // namespace

Result<std::string> dry_run_text(const Job& job, const SearchRequest& search,
                                 const Machine& machine, const TuneSetup& setup) {
  const auto planned = OCRTUNE_TRY(planned_settings(job, search, machine, setup.space, kMaxShown));
  std::string text = fmt::format("Baseline: {} ({})\nSpace: {}; {}\n", knobs_text(search.baseline),
                                 search.baseline_source, how_many(setup.space.size(), "setting"),
                                 cost_text(job, search, setup));
  for (const Axis& axis : setup.space.axes()) {
    text += fmt::format("  {:<10} {}\n", axis.name, join(axis.values, " "));
  }
  for (const PlannedSetting& each : planned) {
    text += knobs_text(each.knobs) + (&each == &planned.front() ? " (baseline)\n" : "\n");
    for (const std::string& line : each.lines) text += "  " + line + "\n";
  }
  const auto settings = static_cast<std::size_t>(setup.space.size());
  if (!planned.empty() && settings > planned.size()) {
    text += fmt::format("and {}\n", how_many(settings - planned.size(), "more setting"));
  }
  return text;
}

Result<std::string> dry_run_json(const Job& job, const SearchRequest& search,
                                 const Machine& machine, const TuneSetup& setup) {
  const auto planned =
      planned_settings(job, search, machine, setup.space, static_cast<std::size_t>(-1));
  if (!planned) return planned.error();
  nlohmann::ordered_json axes = nlohmann::ordered_json::object();
  for (const Axis& axis : setup.space.axes()) axes[valid_utf8(axis.name)] = axis.values;
  nlohmann::ordered_json commands = nlohmann::ordered_json::array();
  for (const PlannedSetting& each : *planned) {
    commands.push_back({{"setting", knobs_text(each.knobs)}, {"lines", each.lines}});
  }
  const nlohmann::ordered_json document = {
      {"dry_run", true},
      {"baseline", knobs_text(search.baseline)},
      {"baseline_source", search.baseline_source},
      {"settings", setup.space.size()},
      {"first_trial_seconds", setup.search.first_trial_seconds},
      {"budget_seconds", search.budget_seconds},
      {"trials_in_budget", search.budget_seconds / setup.search.first_trial_seconds},
      {"space", axes},
      {"commands", commands}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace ocrtune
