// What a tune ends with: the setting to launch, what it is worth, and why it is not another one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/stats.h"
#include "trial/answers/same_judgement.h"
#include "trial/reason.h"
#include "trial/trial.h"
#include "tuner/learning_worth.h"

namespace ocrtune {

enum class Answer { use, keep, inconclusive, none };

enum class ResourceKind { host_memory, gpu_memory, tasks, open_files };

// What can end the recommended setting's run, with all that was seen of it: trials, rehearsals and
// soaks of these knobs. In bytes; tasks and open files by their number.
struct Resource {
  ResourceKind kind = ResourceKind::host_memory;
  std::uint64_t limit = 0;     // 0: unknown
  std::uint64_t peak = 0;      // the largest that was read; 0: not measured
  std::uint64_t possible = 0;  // the largest that cannot be ruled out, at least the peak
};

enum class SafetyState {
  safe,           // each resource keeps its margin, and that is sure
  tight,          // a peak that was read leaves less than the margin
  grows,          // memory grew in most trials, or in the longer one
  unsure,         // a peak beyond the margin cannot be ruled out, or was not measured
  limit_unknown,  // of a resource
  may_grow,       // memory rose, by too little in too short a time to be a leak for sure
  crashes,        // it crashed or hung in a trial, as every setting did
};

struct Safety {
  SafetyState state = SafetyState::limit_unknown;
  ResourceKind by = ResourceKind::host_memory;  // that decided it
  double margin = 0;                            // share of each limit that is to stay free
  std::vector<Resource> resources;

  const Resource* find(ResourceKind kind) const {
    for (const Resource& resource : resources) {
      if (resource.kind == kind) return &resource;
    }
    return nullptr;
  }
};

// What is known of the texts that the recommended setting reads, beside the present one's.
enum class TextClaim {
  not_compared,
  same,     // no more differences than the present setting has with itself
  allowed,  // other text, by no more than was allowed
};

// What is decided of a run, once: badges, exit codes, JSON, headline, lists and plans read it.
struct Verdict {
  Answer answer = Answer::none;
  // The claim is for the machine beside the load that was there: rates and gain are as measured, in
  // turns (tuner/verdict/beside_load.h).
  bool beside_load = false;
  bool same_when_idle = false;  // and the rates freed of that load say the same
  Safety safety;                // of the recommended setting
  TextClaim text = TextClaim::not_compared;
};

// Whether the setting may be handed on as the one to launch; else it leads at best.
inline bool is_recommendation(const Verdict& verdict) {
  return verdict.answer == Answer::use || verdict.answer == Answer::keep;
}

// use, keep, inconclusive, no_answer
const char* answer_name(Answer answer);
// The verdict in a word: no_answer, inconclusive, else the safety: safe, tight, memory_grows,
// memory_not_sure, memory_limit_unknown, crashes_at_times.
const char* verdict_name(const Verdict& verdict);

// One setting over all its trials.
struct SettingSummary {
  Knobs knobs;
  Outcome outcome = Outcome::ok;  // of the last trial, or the worst repeated one
  Reason reason;
  int trials = 0;
  int crashes = 0;               // of its trials, that crashed or hung, where others worked
  Interval samples_per_second;   // all zero unless some trial was ok
  std::uint64_t peak_bytes = 0;  // worst of its trials, rehearsals and soaks
  Resource host, gpu;            // the same by resource; its limits as the trials saw them
  Resource tasks, files;         // limit 0: none was seen
  double step_seconds = 0;       // at the objective's percentile; 0: no idea
  int clean_samples = 0;
  int discarded_samples = 0;
  bool modelled = false;                // its rate rests on disturbed windows alone
  double cpu_seconds_per_sample = 0;    // of all its threads; 0: not observed
  double counted_share = 0;             // median of its trials', as in Trial
  double counts_to = 0;                 // as in Trial
  double network_bytes_per_second = 0;  // of several hosts, the last trial's; 0: unknown
  ThreadUse threads;                    // of the last trial that worked
  SameJudgement same;                   // of all its trials
};

// A rule of thumb, run as a setting.
struct RuleVerdict {
  std::string name;        // "memory_half", "cores_60_percent", "seven"
  Reason text;             // the rule in words, with its number here
  SettingSummary setting;  // the best measured setting that obeys the rule
  Interval loss;           // 1 - rate(rule) / rate(recommended); below 0: the rule is better
  Reason verdict;          // costs 23 % (20..26 %), ties, does not fit: ...
};

struct Neighbour {
  Knobs knobs;
  Reason reason;  // 12 % slower; out of memory: 71 GiB of 64 GiB; ties, more memory
};

struct Recommendation {
  Knobs knobs;
  std::vector<std::pair<std::string, std::string>> env;
  std::string command;          // ready to paste
  Interval samples_per_second;  // re-measured in the race
  std::uint64_t peak_bytes = 0;
  double step_seconds = 0;  // at the objective's percentile; 0: no idea
  std::uint64_t limit_bytes = 0;
  std::vector<Reason> reasons;  // why this one is safe and fast, each a sentence
};

struct FittedTerm {
  std::string name;  // "serial fraction", "per-process contention", ...
  double value = 0;
  Reason words;  // 9 % of a step does not speed up with threads
};

// A setting of the space that was not run, as the models see it.
struct PredictedSetting {
  Knobs knobs;
  Interval samples_per_second;   // all zero: no idea
  std::uint64_t peak_bytes = 0;  // 0: no idea
  bool admitted = true;          // false: it would not be launched, `reason` says why
  Reason reason;
};

// A knob that a test showed to change nothing here: every setting has `kept` instead.
struct InertKnob {
  std::string name, kept;
  Interval rate, cpu_seconds;         // ratios at its farthest value to those at `kept`
  std::vector<std::string> runtimes;  // of threads, that the program has loaded
  std::vector<LauncherVariable> launcher_set;
  double busy_threads = 0;  // at `kept`
  double seconds = 0;       // of the run, until it was known
};

// The fastest setting that trains by another recipe: other samples between two updates.
struct BeyondRecipe {
  Knobs knobs;
  Interval ratio;  // of samples per second, to the recommended setting's
  std::int64_t global_batch = 0;
  std::optional<LearningWorth> worth;  // of its samples; unset: not known
};

// The fastest setting that reads another text.
struct OtherText {
  Knobs knobs;
  Interval ratio;  // of samples per second, to the recommended setting's; all zero: unknown
  SameJudgement same;
};

// What holds a setting back, and what to try next; each a sentence.
struct HeldBack {
  Reason cause;
  Reason next;
};

struct TuneResult {
  std::string run_id;
  Verdict verdict;
  bool found = false;  // false: no setting worked; `answer` says what to do
  Reason answer;       // the recommendation, or why there is none
  // Why the trials do not settle which setting is the best, and what is known; empty: they do.
  Reason inconclusive;
  Recommendation recommendation;
  SettingSummary baseline;
  Interval gain;  // rate(recommended) / rate(baseline)
  // Where the baseline stays although another setting looked faster: that one, and its rate over
  // the baseline's.
  std::optional<std::pair<Knobs, Interval>> contender;
  std::int64_t recipe_batch = 0;  // global batch that the answer keeps; 0: it was free
  std::optional<BeyondRecipe> beyond_recipe;
  std::optional<OtherText> other_text;
  std::vector<HeldBack> held_back;   // of the recommended setting; empty: no cause is known
  std::vector<SettingSummary> ties;  // cannot be told from the best; recommended one included
  double certified_gap = -1;         // the best is at most this much faster, at 95 %; -1: unknown
  Reason certificate;  // 95 %: no setting of the declared space is more than 3 % better; 6 tie
  std::vector<RuleVerdict> rules;
  std::vector<Neighbour> close;             // behind by less than these trials can tell, and no tie
  std::vector<Neighbour> rejected;          // near the recommended one and worse
  std::vector<InertKnob> inert;             // left out of the search and of what is launched
  std::vector<FittedTerm> terms;            // the speed model in words; empty on small spaces
  std::vector<SettingSummary> settings;     // all that were tried, best first
  std::vector<SettingSummary> pareto;       // nothing tried is better in one thing and no worse in
                                            // the others; fastest first
  std::vector<std::string> pareto_axes;     // the things: "samples_per_second", "peak_bytes", ...
  std::string objective = "throughput";     // what "best" means here
  std::vector<PredictedSetting> predicted;  // the rest of the space, in its order
  std::map<std::string, int> outcomes;      // outcome name -> trials
  int trials = 0;
  int space_points = 0;
  int discarded_samples = 0;
  double noise = 0;             // relative standard deviation between repeats
  bool noise_measured = false;  // false: nothing was repeated, `noise` is what was expected
  Reason noise_statement;       // too noisy to tell A from B; empty: told apart
  double seconds = 0;
  std::string stop_reason;  // "budget", "improvement under 0.02 %", ...
  Reason advice;            // the next best experiment

  std::set<std::string> inert_names() const {
    std::set<std::string> names;
    for (const InertKnob& knob : inert) names.insert(knob.name);
    return names;
  }
};

}  // namespace ocrtune
