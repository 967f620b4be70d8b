// Sentences about a choice, and the checks that turn an answer into an open one. The order of the
// checks in inconclusive_reason() is the order of their weight: contradictions of the rates
// themselves come before noise and load.
#include "tuner/verdict/explain.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/normal.h"
#include "base/stats.h"
#include "trial/observe/thread_runtimes.h"
#include "trial/workloads/command/command_fill.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxClose = 5;
// Further apart than this, two settings that the trials cannot tell apart are not alike: it is
// open.
constexpr double kSimilar = 0.1;
// A rival with such a chance to be so much faster leaves the question open.
constexpr double kRivalChance = 0.2, kClearlyFaster = 1.05;

// Repeats of each of two settings that would tell this difference of logarithms from nothing.
int rounds_to_settle(double difference, double noise) {
  // n repeats of both have an error of noise sqrt(2 / n): this solves for n.
  const double each = kNormal95 * noise * std::sqrt(2.0) / std::max(difference, 0.002);
  return std::clamp(static_cast<int>(std::ceil(each * each)), 2, 1000);
}

double log_behind(const Setting& best, const Setting& other) {
  return std::log(best.estimate.median / other.estimate.median);
}

Reason why_not(const Setting& other, const Choice& verdict) {
  if (other.crowds_out) return reason<ReasonCode::crowds_out>();
  if (other.summary.crashes > verdict.chosen->summary.crashes) {
    return reason<ReasonCode::crashes_at_times>(counted(other.summary.crashes),
                                                counted(other.summary.trials));
  }
  const auto is_other = [&](const Setting* setting) { return setting == &other; };
  if (std::any_of(verdict.ties.begin(), verdict.ties.end(), is_other)) {
    const Reason more = needs_more(other.summary, verdict.chosen->summary);
    return more.empty() ? reason<ReasonCode::ties>() : reason<ReasonCode::ties_and_needs>(more);
  }
  const SettingSummary& summary = other.summary;
  Reason broken = broken_constraint(verdict.objective, summary.samples_per_second.median,
                                    summary.step_seconds, static_cast<double>(summary.peak_bytes));
  if (!broken.empty()) return broken;
  const auto peak = static_cast<double>(summary.peak_bytes);
  const auto limit = static_cast<double>(verdict.limit_bytes);
  if (limit > 0 && peak > limit * (1 - verdict.margin)) {
    return reason<ReasonCode::too_little_free>(in_percent(std::max(0.0, 1 - peak / limit)),
                                               in_percent(verdict.margin));
  }
  if (verdict.objective.goal == Goal::memory &&
      summary.peak_bytes > verdict.chosen->summary.peak_bytes) {
    return reason<ReasonCode::needs_memory>(in_bytes(peak));
  }
  const Interval ratio = ratio_interval(other, *verdict.chosen);
  Reason difference = compared(ratio.median, verdict.objective.goal);
  const bool noise = ratio.low <= 1 && ratio.high >= 1;
  if (!noise) return difference;
  if (std::abs(ratio.median - 1) <= kSimilar) return reason<ReasonCode::within_noise>(difference);
  return reason<ReasonCode::left_open>(decimal(ratio.median, 2), decimal(ratio.low, 2),
                                       decimal(ratio.high, 2));
}

Reason why_not_run(const Prediction& prediction, const Choice& verdict) {
  const double ratio = prediction.objective_value.median / verdict.chosen->estimate.median;
  return reason<ReasonCode::predicted_not_run>(compared(ratio, verdict.objective.goal));
}

// An untried setting is no reason to stay away from it unless even its upper bound is behind.
bool surely_slower(const Prediction& prediction, const Choice& verdict) {
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
    // What cannot run here, or was not run, is no warning.
    if (setting.works() || outcome == Outcome::unsupported || outcome == Outcome::skipped) continue;
    const Setting*& at = nearest[outcome];
    if (at == nullptr ||
        knobs_apart(setting.summary.knobs, chosen) < knobs_apart(at->summary.knobs, chosen)) {
      at = &setting;
    }
  }
  std::vector<Neighbour> failures;
  for (const auto& [outcome, setting] : nearest) {
    failures.push_back({setting->summary.knobs, failure_of(setting->summary)});
  }
  return failures;
}

}  // namespace

bool keeps_recipe(std::int64_t recipe_batch, const Knobs& knobs) {
  return recipe_batch == 0 || global_batch(knobs) == recipe_batch;
}

int possible_answers(const Space& space, const Choice& verdict,
                     const std::vector<Setting>& settings) {
  std::set<Knobs> failed;
  for (const Setting& setting : settings) {
    const bool tried = setting.summary.outcome != Outcome::skipped;
    if (tried && !setting.works()) failed.insert(setting.summary.knobs);
  }
  const auto& points = space.points();
  return static_cast<int>(std::count_if(points.begin(), points.end(), [&](const Knobs& knobs) {
    return keeps_recipe(verdict.recipe_batch, knobs) && !failed.contains(knobs);
  }));
}

Reason failure_of(const SettingSummary& setting) {
  const Reason outcome = outcome_reason(setting.outcome);
  return setting.reason.empty() ? outcome : reason<ReasonCode::ended_with>(outcome, setting.reason);
}

Reason needs_more(const SettingSummary& tie, const SettingSummary& chosen) {
  if (tie.peak_bytes != chosen.peak_bytes) {
    return tie.peak_bytes > chosen.peak_bytes ? reason<ReasonCode::more_memory>() : Reason();
  }
  const Knobs &a = tie.knobs, &b = chosen.knobs;
  const std::pair<int, ReasonCode> needs[] = {{a.nproc - b.nproc, ReasonCode::more_processes},
                                              {a.threads - b.threads, ReasonCode::more_threads},
                                              {a.workers - b.workers, ReasonCode::more_loaders},
                                              {a.batch - b.batch, ReasonCode::larger_batch}};
  for (const auto& [more, code] : needs) {
    if (more != 0) return more > 0 ? Reason{code, {}} : Reason();
  }
  return {};
}

Reason inert_reason(const InertKnob& knob) {
  const auto percent = [](double ratio) {
    return fmt::format("{:+.0f}", std::round(100 * (ratio - 1)) + 0.0);  // +0 for -0
  };
  const std::string low = percent(knob.rate.low), high = percent(knob.rate.high);
  if (knob.name == "threads" && !knob.launcher_set.empty()) {
    return reason<ReasonCode::inert_by_launcher>(knob.name, low, high,
                                                 knob.launcher_set.front().text());
  }
  for (const ThreadRuntime& runtime : thread_runtime_table()) {
    const auto& loaded = knob.runtimes;
    if (*runtime.sized_by == '\0' ||
        std::find(loaded.begin(), loaded.end(), runtime.name) == loaded.end()) {
      continue;
    }
    return reason<ReasonCode::inert_pool_of>(knob.name, low, high, runtime.name, runtime.sized_by);
  }
  return knob.busy_threads < 1.5 ? reason<ReasonCode::inert_one_thread>(knob.name, low, high)
                                 : reason<ReasonCode::inert_own_pool>(knob.name, low, high);
}

std::vector<Reason> reasons_for(const Choice& verdict) {
  std::vector<Reason> reasons;
  const Setting& chosen = *verdict.chosen;
  const SettingSummary& summary = chosen.summary;
  const Interval& rate = summary.samples_per_second;
  reasons.push_back(reason<ReasonCode::ran_times>(counted(summary.trials),
                                                  Number{rate.median, verdict.objective.rate},
                                                  as_rate(rate.low), as_rate(rate.high)));
  for (const double launch : {chosen.slow_launch, chosen.fast_launch}) {
    if (launch > 0) reasons.push_back(reason<ReasonCode::a_launch_was_apart>(as_rate(launch)));
  }
  constexpr double kShortSeconds = 0.5;  // within which a program does little but start
  if (verdict.objective.rate == Unit::run_rate && rate.median * kShortSeconds > 1) {
    reasons.push_back(reason<ReasonCode::runs_are_starts>(in_seconds(1 / rate.median)));
  }
  if (summary.step_seconds > 0 &&
      (verdict.objective.goal == Goal::latency || verdict.objective.max_step_seconds > 0)) {
    reasons.push_back(reason<ReasonCode::steps_end_within>(counted(verdict.objective.percentile),
                                                           in_seconds(summary.step_seconds)));
  }
  if (verdict.baseline != nullptr && verdict.baseline != &chosen) {
    const Interval gain = told_ratio(chosen, *verdict.baseline);
    reasons.push_back(reason<ReasonCode::times_the_baseline>(
        decimal(gain.median, 2), decimal(gain.low, 2), decimal(gain.high, 2)));
  }
  const auto peak = static_cast<double>(summary.peak_bytes);
  const auto limit = static_cast<double>(verdict.limit_bytes);
  if (peak > 0 && limit > 0) {
    reasons.push_back(reason<ReasonCode::peak_of_limit>(
        in_bytes(peak), in_bytes(limit), in_percent(1 - peak / limit), in_percent(verdict.margin)));
  } else if (peak > 0) {
    reasons.push_back(reason<ReasonCode::peak_without_limit>(in_bytes(peak)));
  } else {
    reasons.push_back(reason<ReasonCode::memory_not_measured>());
  }
  if (verdict.crowding > 0) {
    reasons.push_back(reason<ReasonCode::crowding_left_out>(counted(verdict.crowding)));
  }
  if (verdict.ties.size() > 1 && verdict.lightest) {
    reasons.push_back(reason<ReasonCode::safest_of_tie>(counted(verdict.ties.size())));
  }
  return reasons;
}

std::vector<Neighbour> rejected_neighbours(const Space& space, const Search& search,
                                           const Choice& verdict,
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
    if (!keeps_recipe(verdict.recipe_batch, knobs)) continue;
    const Setting* run = find_setting(settings, knobs);
    if (run != nullptr && (among(verdict.near, run) || among(verdict.ties, run))) continue;
    if (run != nullptr) {
      if (run->steps_as) continue;  // untaken_batch() says it
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

std::vector<Neighbour> close_settings(const Choice& verdict) {
  std::vector<Neighbour> close;
  for (const Setting* near : verdict.near) {
    if (close.size() == kMaxClose) break;
    close.push_back({near->summary.knobs, why_not(*near, verdict)});
  }
  return close;
}

namespace {

// Of whom the chosen setting is ahead by an estimate alone, for none of its windows was quiet: the
// baseline, else the next best. Null: some were, or it is the baseline itself.
const Setting* ahead_on_paper(const Choice& verdict, const std::vector<Setting>& settings) {
  const SettingSummary& chosen = verdict.chosen->summary;
  if (chosen.clean_samples > 0 || chosen.discarded_samples == 0) return nullptr;
  if (verdict.baseline != nullptr) {
    return verdict.baseline == verdict.chosen ? nullptr : verdict.baseline;
  }
  return next_best(verdict, settings);
}

// All windows of the settings that work, where each of them was disturbed; else 0.
int disturbed_windows(const std::vector<Setting>& settings) {
  int disturbed = 0;
  for (const Setting& setting : settings) {
    if (!setting.works()) continue;
    if (setting.summary.clean_samples > 0) return 0;
    disturbed += setting.summary.discarded_samples;
  }
  return disturbed;
}

Reason may_be_faster(const Setting& faster, const Setting& slower) {
  const Interval ratio = told_ratio(faster, slower);
  const double faster_cost = faster.summary.cpu_seconds_per_sample;
  const double slower_cost = slower.summary.cpu_seconds_per_sample;
  Reason cost;
  if (faster_cost > 0 && slower_cost > 0) {
    cost = reason<ReasonCode::cpu_time_a_sample>(in_seconds(faster_cost), in_seconds(slower_cost));
  }
  return reason<ReasonCode::rival_may_be_faster>(
      knobs_text(faster.summary.knobs), knobs_text(slower.summary.knobs), decimal(ratio.median, 2),
      decimal(ratio.low, 2), decimal(ratio.high, 2), cost);
}

// Ahead by what was measured, beside load that may have struck the two unlike.
Reason in_too_few_turns(const Setting& faster, const Setting& slower) {
  const Interval ratio = told_ratio(faster, slower);
  if (ratio.low <= 1) return may_be_faster(faster, slower);
  return reason<ReasonCode::too_few_turns>(
      knobs_text(faster.summary.knobs), decimal(ratio.median, 2), decimal(ratio.low, 2),
      decimal(ratio.high, 2), knobs_text(slower.summary.knobs));
}

constexpr double kContradicts = 1.25;  // guess: means over other times differ by less

// The rate of `a` beside `b` as the log prints it, and as its steps and the clock have it.
Reason told_otherwise(const Setting& a, const Setting& b, double ratio, double less) {
  return reason<ReasonCode::log_against_clock>(knobs_text(a.summary.knobs), decimal(ratio, 2),
                                               knobs_text(b.summary.knobs),
                                               decimal(ratio / less, 2));
}

// By how much the steps show less than the log, of `a` beside `b`; 1: not known. A dimension of the
// user's own may be what a step's samples are called.
double shown_less(const Setting& a, const Setting& b) {
  const SettingSummary &one = a.summary, &other = b.summary;
  const bool same_steps =
      one.knobs.accumulate == other.knobs.accumulate && one.knobs.dims == other.knobs.dims;
  if (!same_steps || !(one.counted_share > 0) || !(other.counted_share > 0)) return 1;
  return other.counted_share / one.counted_share;
}

// The log and the steps that it counts disagree on which setting is faster: a rate may leave out
// time that its user waits, or a step be another number of samples. Which, no trial shows.
Reason against_the_clock(const Choice& verdict, const std::vector<Setting>& settings) {
  const Setting& chosen = *verdict.chosen;
  if (verdict.baseline != nullptr && verdict.baseline != &chosen) {
    const Interval ratio = told_ratio(chosen, *verdict.baseline);
    const double less = shown_less(chosen, *verdict.baseline);
    if (less >= kContradicts && ratio.low > 1) {
      return told_otherwise(chosen, *verdict.baseline, ratio.median, less);
    }
  }
  for (const Setting& other : settings) {
    const Knobs &knobs = other.summary.knobs, &own = chosen.summary.knobs;
    // The same total by another batch: what is counted are pages, not batches.
    const double total = chosen.summary.counts_to;
    const bool pages = total > 0 && other.summary.counts_to == total;
    const bool alike = knobs.nproc == own.nproc && (knobs.batch == own.batch || !pages);
    if (!other.works() || other.set_aside() || !alike) continue;
    const double ratio = told_ratio(other, chosen).median;
    const double less = shown_less(other, chosen);
    if (less <= 1 / kContradicts && ratio / less > kContradicts) {
      return told_otherwise(other, chosen, ratio, less);
    }
  }
  return {};
}

// An epoch has as many samples by any batch: where the counter's total does not shrink as the batch
// grows, a step has not the samples that it is taken to have.
Reason by_its_totals(const Choice& verdict, const std::vector<Setting>& settings) {
  constexpr double kApart = 1.25, kFewest = 8;  // a total of few steps is rounded by much; guess
  const SettingSummary& chosen = verdict.chosen->summary;
  for (const Setting& other : settings) {
    Knobs alike = other.summary.knobs;
    const double times = static_cast<double>(chosen.knobs.batch) / alike.batch;
    const double less = other.summary.counts_to / std::max(chosen.counts_to, 1.0);
    alike.batch = chosen.knobs.batch;
    const bool told = std::min(other.summary.counts_to, chosen.counts_to) >= kFewest;
    // The same total is of steps that were asked for, or of pages; one that grows, of a batch.
    if (!other.works() || times <= 1 || alike != chosen.knobs || !told || less <= 1) continue;
    if (times < kApart * less) continue;
    return reason<ReasonCode::totals_speak_against>(
        knobs_text(other.summary.knobs), general(other.summary.counts_to, 6),
        knobs_text(chosen.knobs), general(chosen.counts_to, 6), decimal(times, 2),
        decimal(less, 2));
  }
  return {};
}

// A step of n times the batch takes no less time, and n processes do no more than n times as much
// as one: where they seem to, what the lines count are samples, or is of all processes together.
template <ReasonCode code>
Reason beyond_its(int Knobs::*number, const Choice& verdict, const std::vector<Setting>& settings) {
  constexpr double kBeyond = 1.15;  // caches and vector units that are filled better; guess
  const Setting& chosen = *verdict.chosen;
  if (verdict.objective.rate == Unit::request_rate) return {};  // which were counted
  for (const Setting& other : settings) {
    Knobs as_many = other.summary.knobs;
    const double times = static_cast<double>(chosen.summary.knobs.*number) / (as_many.*number);
    as_many.*number = chosen.summary.knobs.*number;
    if (!other.works() || times <= 1 || as_many != chosen.summary.knobs) continue;
    const Interval ratio = told_ratio(chosen, other);
    if (ratio.low <= kBeyond * times) continue;
    return reason<code>(knobs_text(chosen.summary.knobs), decimal(ratio.median, 2),
                        decimal(ratio.low, 2), decimal(ratio.high, 2),
                        knobs_text(other.summary.knobs), decimal(times, 2));
  }
  return {};
}

}  // namespace

Reason inconclusive_reason(const Choice& verdict, const std::vector<Setting>& settings,
                           const Space& space) {
  const Setting& chosen = *verdict.chosen;
  const auto worked = std::count_if(settings.begin(), settings.end(),
                                    [](const Setting& setting) { return setting.works(); });
  // One that reads otherwise had a rate: there was something to compare.
  const auto refused = std::count_if(settings.begin(), settings.end(), [](const Setting& setting) {
    return setting.summary.outcome == Outcome::wrong_result;
  });
  const int answers = possible_answers(space, verdict, settings);
  if (worked == 1 && refused == 0 && answers > 1) {
    return reason<ReasonCode::only_rate>(knobs_text(chosen.summary.knobs), counted(answers));
  }
  if (verdict.objective.goal == Goal::memory) return {};
  for (const Reason& other :
       {against_the_clock(verdict, settings), by_its_totals(verdict, settings),
        beyond_its<ReasonCode::beyond_its_processes>(&Knobs::nproc, verdict, settings),
        beyond_its<ReasonCode::beyond_its_batch>(&Knobs::batch, verdict, settings)}) {
    if (!other.empty()) return other;
  }
  const Setting* rival = nullptr;
  double most = kRivalChance;
  for (const Setting& other : settings) {
    if (&other == &chosen || !other.works() || other.set_aside()) continue;
    if (!keeps_recipe(verdict.recipe_batch, other.summary.knobs)) continue;
    // Rates of undisturbed windows are told apart by the choice itself.
    if (!chosen.summary.modelled && !other.summary.modelled) continue;
    const bool tie =
        std::find(verdict.ties.begin(), verdict.ties.end(), &other) != verdict.ties.end();
    const double chance = chosen.fit->chance_above(other.place, chosen.place, kClearlyFaster);
    // What ties is launched as well as the chosen one: it opens nothing.
    if (tie || chance <= most) continue;
    most = chance;
    rival = &other;
  }
  if (rival != nullptr) return may_be_faster(*rival, chosen);
  const Setting* const behind = ahead_on_paper(verdict, settings);
  if (behind != nullptr) return in_too_few_turns(chosen, *behind);
  const int disturbed = disturbed_windows(settings);
  return disturbed > 0 ? reason<ReasonCode::no_quiet_window>(counted(disturbed)) : Reason();
}

const Setting* next_best(const Choice& choice, const std::vector<Setting>& settings) {
  const auto next = std::find_if(settings.begin(), settings.end(), [&](const Setting& setting) {
    return &setting != choice.chosen && setting.works() &&
           keeps_recipe(choice.recipe_batch, setting.summary.knobs);
  });
  return next == settings.end() ? nullptr : &*next;
}

Reason noise_statement(const Choice& verdict) {
  if (verdict.unsettled.empty()) return {};
  const Setting& rival = *verdict.unsettled[0];
  const double behind = std::fabs(log_behind(*verdict.chosen, rival));
  const int wanted = rounds_to_settle(behind, verdict.noise);
  const int have = static_cast<int>(std::min(verdict.chosen->rates.size(), rival.rates.size()));
  const double seconds = 2.0 * std::max(1, wanted - have) * verdict.trial_seconds;
  return reason<ReasonCode::too_noisy>(knobs_text(verdict.chosen->summary.knobs),
                                       knobs_text(rival.summary.knobs), in_percent(verdict.noise),
                                       in_seconds(seconds));
}

}  // namespace ocrtune
