#include "tuner/verdict/explain.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/stats.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr double kWide = 1.96;
constexpr std::size_t kMaxClose = 5;
// A rival with such a chance to be so much faster leaves the question open.
constexpr double kRivalChance = 0.2, kClearlyFaster = 1.05;

// Repeats of each of two settings that would tell this difference of logarithms from nothing.
int rounds_to_settle(double difference, double noise) {
  const double each = kWide * noise * std::sqrt(2.0) / std::max(difference, 0.002);
  return std::clamp(static_cast<int>(std::ceil(each * each)), 2, 1000);
}

double log_behind(const Setting& best, const Setting& other) {
  return std::log(best.estimate.median / other.estimate.median);
}

std::string why_not(const Setting& other, const Verdict& verdict) {
  if (other.crowds_out)
    return "left out: other programs were running, and it takes their CPU share";
  const auto is_other = [&](const Setting* setting) { return setting == &other; };
  if (std::any_of(verdict.ties.begin(), verdict.ties.end(), is_other)) {
    const std::string more = needs_more(other.summary, verdict.chosen->summary);
    return more.empty() ? "ties" : "ties, " + more;
  }
  const SettingSummary& summary = other.summary;
  const std::string broken =
      broken_constraint(verdict.objective, summary.samples_per_second.median, summary.step_seconds,
                        static_cast<double>(summary.peak_bytes));
  if (!broken.empty()) return broken;
  const auto peak = static_cast<double>(summary.peak_bytes);
  const auto limit = static_cast<double>(verdict.limit_bytes);
  if (limit > 0 && peak > limit * (1 - verdict.margin)) {
    return fmt::format("leaves {} of memory free, {} asked",
                       format_percent(std::max(0.0, 1 - peak / limit)),
                       format_percent(verdict.margin));
  }
  if (verdict.objective.goal == Goal::memory &&
      summary.peak_bytes > verdict.chosen->summary.peak_bytes) {
    return fmt::format("needs {}", format_bytes(summary.peak_bytes));
  }
  const Interval ratio = ratio_interval(other, *verdict.chosen);
  std::string words = compared_words(ratio.median, verdict.objective.goal);
  if (ratio.low <= 1 && ratio.high >= 1) words += ", within the noise";
  return words;
}

std::string why_not_run(const Prediction& prediction, const Verdict& verdict) {
  const double here = verdict.chosen->estimate.median;
  return fmt::format(
      "predicted {}, not run",
      compared_words(prediction.objective_value.median / here, verdict.objective.goal));
}

// An untried setting is no reason to stay away from it unless even its upper bound is behind.
bool surely_slower(const Prediction& prediction, const Verdict& verdict) {
  const Interval& rate = prediction.objective_value;
  return rate.median > 0 && rate.high < verdict.chosen->estimate.median;
}

int knobs_apart(const Knobs& a, const Knobs& b) {
  int apart = 0;
  for (const KnobRow& row : knob_table()) {
    apart += knob_text(a, row.name) == knob_text(b, row.name) ? 0 : 1;
  }
  return apart + (a.dims == b.dims ? 0 : 1);
}

// Of each way to fail, the setting that is most like the chosen one: what a reader might try.
std::vector<Neighbour> nearest_failures(const Knobs& chosen, const std::vector<Setting>& settings) {
  std::map<Outcome, const Setting*> nearest;
  for (const Setting& setting : settings) {
    const Outcome outcome = setting.summary.outcome;
    if (setting.works() || outcome == Outcome::unsupported || outcome == Outcome::skipped) continue;
    const Setting*& at = nearest[outcome];
    if (at == nullptr ||
        knobs_apart(setting.summary.knobs, chosen) < knobs_apart(at->summary.knobs, chosen)) {
      at = &setting;
    }
  }
  std::vector<Neighbour> failures;
  for (const auto& [outcome, setting] : nearest) {
    failures.push_back({setting->summary.knobs, failed_words(setting->summary)});
  }
  return failures;
}

}  // namespace

std::string failed_words(const SettingSummary& setting) {
  const std::string outcome = outcome_text(setting.outcome);
  const std::string& reason = setting.reason;
  if (starts_with(reason, outcome)) return reason;
  return reason.empty() ? outcome : outcome + ": " + reason;
}

std::string needs_more(const SettingSummary& tie, const SettingSummary& chosen) {
  if (tie.peak_bytes != chosen.peak_bytes) {
    return tie.peak_bytes > chosen.peak_bytes ? "more memory" : "";
  }
  const Knobs &a = tie.knobs, &b = chosen.knobs;
  const std::pair<int, const char*> needs[] = {{a.nproc - b.nproc, "more processes"},
                                               {a.threads - b.threads, "more threads"},
                                               {a.workers - b.workers, "more loaders"},
                                               {a.batch - b.batch, "a larger batch"}};
  for (const auto& [more, words] : needs) {
    if (more != 0) return more > 0 ? words : "";
  }
  return "";
}

std::vector<std::string> reasons_for(const Verdict& verdict) {
  std::vector<std::string> reasons;
  const Setting& chosen = *verdict.chosen;
  const SettingSummary& summary = chosen.summary;
  const Interval& rate = rate_of(chosen, verdict.objective);
  reasons.push_back(fmt::format("Ran {} time{}: {} samples/s ({} to {}).", summary.trials,
                                summary.trials == 1 ? "" : "s", format_count(rate.median),
                                format_count(rate.low), format_count(rate.high)));
  if (summary.step_seconds > 0 &&
      (verdict.objective.goal == Goal::latency || verdict.objective.max_step_seconds > 0)) {
    reasons.push_back(fmt::format("{} % of its steps end within {}.", verdict.objective.percentile,
                                  format_duration(summary.step_seconds)));
  }
  if (summary.samples_per_joule > 0) {
    reasons.push_back(fmt::format("{} samples a joule of the processor packages.",
                                  format_count(summary.samples_per_joule)));
  }
  if (verdict.baseline != nullptr && verdict.baseline != &chosen) {
    const Interval gain = ratio_interval(chosen, *verdict.baseline);
    reasons.push_back(fmt::format("{:.2f} times the baseline ({:.2f} to {:.2f}).", gain.median,
                                  gain.low, gain.high));
  }
  if (summary.peak_bytes > 0 && verdict.limit_bytes > 0) {
    const double used = static_cast<double>(summary.peak_bytes);
    const double limit = static_cast<double>(verdict.limit_bytes);
    reasons.push_back(
        fmt::format("Peak memory {} of {}: {} stay free (at least {} asked).",
                    format_bytes(summary.peak_bytes), format_bytes(verdict.limit_bytes),
                    format_percent(1 - used / limit), format_percent(verdict.margin)));
  } else if (summary.peak_bytes > 0) {
    reasons.push_back(
        fmt::format("Peak memory {}; no limit is known.", format_bytes(summary.peak_bytes)));
  } else {
    reasons.emplace_back("Its memory could not be measured.");
  }
  if (verdict.crowding > 0) {
    reasons.push_back(fmt::format(
        "Other programs were running: {} setting{} with more threads than CPUs left out, "
        "for what they gain then is the others' share.",
        verdict.crowding, verdict.crowding == 1 ? "" : "s"));
  }
  if (verdict.ties.size() > 1) {
    reasons.push_back(
        fmt::format("{} settings tie; this one needs the least memory, then the "
                    "fewest processes.",
                    verdict.ties.size()));
  }
  return reasons;
}

std::vector<Neighbour> rejected_neighbours(const Space& space, const Search& search,
                                           const Verdict& verdict,
                                           const std::vector<Setting>& settings) {
  const int chosen = space.find(verdict.chosen->summary.knobs);
  if (chosen < 0) return {};
  std::vector<Neighbour> rejected = nearest_failures(verdict.chosen->summary.knobs, settings);
  std::vector<Neighbour> measured, predicted;
  const auto among = [](const std::vector<const Setting*>& named, const Setting* setting) {
    return std::find(named.begin(), named.end(), setting) != named.end();
  };
  for (const int point : space.neighbours(chosen)) {
    const Knobs& knobs = space.knobs(point);
    const Setting* run = find_setting(settings, knobs);
    if (run != nullptr && (among(verdict.near, run) || among(verdict.ties, run))) continue;
    if (run != nullptr) {
      if (run->works() || run->crowds_out) measured.push_back({knobs, why_not(*run, verdict)});
      continue;
    }
    const Prediction prediction = search.predict(knobs);
    if (!prediction.admitted) {
      rejected.push_back({knobs, prediction.reason});
    } else if (surely_slower(prediction, verdict)) {
      predicted.push_back({knobs, why_not_run(prediction, verdict)});
    }
  }
  rejected.insert(rejected.end(), measured.begin(), measured.end());
  rejected.insert(rejected.end(), predicted.begin(), predicted.end());
  return rejected;
}

std::vector<Neighbour> close_settings(const Verdict& verdict) {
  std::vector<Neighbour> close;
  for (const Setting* near : verdict.near) {
    if (close.size() == kMaxClose) break;
    close.push_back({near->summary.knobs, why_not(*near, verdict)});
  }
  return close;
}

std::string inconclusive_reason(const Verdict& verdict, const std::vector<Setting>& settings,
                                int space_points) {
  const Setting& chosen = *verdict.chosen;
  const auto worked = std::count_if(settings.begin(), settings.end(),
                                    [](const Setting& setting) { return setting.works(); });
  if (worked == 1 && space_points > 1) {
    return fmt::format(
        "Only {} gave a rate, 1 of {} settings: there is nothing to compare it with.",
        knobs_text(chosen.summary.knobs), space_points);
  }
  if (verdict.objective.goal == Goal::memory) return "";
  const Setting* rival = nullptr;
  double most = kRivalChance;
  for (const Setting& other : settings) {
    if (&other == &chosen || !other.works() || other.crowds_out) continue;
    if (!chosen.summary.modelled && !other.summary.modelled) continue;
    const bool tie =
        std::find(verdict.ties.begin(), verdict.ties.end(), &other) != verdict.ties.end();
    const double chance = chosen.fit->chance_above(other.place, chosen.place, kClearlyFaster);
    if (tie || chance <= most) continue;
    most = chance;
    rival = &other;
  }
  if (rival == nullptr) return "";
  const Interval ratio = ratio_interval(*rival, chosen);
  std::string reason = fmt::format(
      "Other programs disturbed the trials: {} may be faster than {}, {:.2f} times ({:.2f} to "
      "{:.2f}) on free CPUs.",
      knobs_text(rival->summary.knobs), knobs_text(chosen.summary.knobs), ratio.median, ratio.low,
      ratio.high);
  const double mine = chosen.summary.cpu_seconds_per_sample;
  const double theirs = rival->summary.cpu_seconds_per_sample;
  if (mine > 0 && theirs > 0) {
    reason += fmt::format(" CPU time a sample: {} and {}.", format_duration(theirs),
                          format_duration(mine));
  }
  return reason + " Run again when the machine is quieter, or with a longer budget.";
}

std::string noise_statement(const Verdict& verdict) {
  if (verdict.unsettled.empty()) return "";
  const Setting& rival = *verdict.unsettled[0];
  const double behind = std::max(log_behind(*verdict.chosen, rival), 0.0);
  const int wanted = rounds_to_settle(behind, verdict.noise);
  const int have = static_cast<int>(std::min(verdict.chosen->rates.size(), rival.rates.size()));
  const double seconds = 2.0 * std::max(1, wanted - have) * verdict.trial_seconds;
  return fmt::format(
      "Too noisy to tell {} from {} in this budget (repeats differ by {}); about {} "
      "more would settle it.",
      knobs_text(verdict.chosen->summary.knobs), knobs_text(rival.summary.knobs),
      format_percent(verdict.noise), format_duration(seconds));
}

}  // namespace ocrtune
