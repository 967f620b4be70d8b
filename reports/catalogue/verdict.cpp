// Badges word what tuner/verdict decided. Only noise, a missing data path and an unfinished run
// are read from the record here. The first badge is the verdict's own: html/run_index.cpp shows
// no other.
#include "reports/catalogue/verdict.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/text.h"

namespace ocrtune {
namespace {

// Above this spread between repeats, or share of discarded samples, the host is called noisy.
// Both values are guesses.
constexpr double kNoisySpread = 0.05;
constexpr double kNoisyShare = 0.2;

Badge safety_badge(const Safety& safety) {
  const bool gpu = safety.by == ResourceKind::gpu_memory;
  switch (safety.state) {
    case SafetyState::limit_unknown:
      return {gpu ? "GPU MEMORY LIMIT UNKNOWN" : "MEMORY LIMIT UNKNOWN", Tone::warning,
              "The memory limit could not be read, so the headroom is not known."};
    case SafetyState::grows:
      return {"MEMORY GROWS", Tone::warning,
              "Memory grew during the trials and will reach the limit in time."};
    case SafetyState::may_grow:
      return {
          "MEMORY NOT SURE", Tone::warning,
          "Memory rose for too short a time to tell a leak from a heap that is collected later."};
    case SafetyState::tight:
      if (safety.by == ResourceKind::tasks) {
        return {"TASKS TIGHT", Tone::warning,
                "Fewer processes and threads stay free of their limit than the margin asks for."};
      }
      if (safety.by == ResourceKind::open_files) {
        return {"OPEN FILES TIGHT", Tone::warning,
                "A process may open fewer further files than the margin asks for."};
      }
      return {gpu ? "GPU MEMORY TIGHT" : "TIGHT", Tone::warning,
              "Less memory stays free than the margin asks for."};
    case SafetyState::unsure:
      return {gpu ? "GPU MEMORY NOT SURE" : "MEMORY NOT SURE", Tone::warning,
              gpu ? "How much GPU memory it takes was not seen."
                  : "A memory peak between two readings may have left less than the margin."};
    case SafetyState::crashes:
      return {"CRASHES AT TIMES", Tone::warning,
              "It crashed or hung in some of its trials, as every setting did."};
    case SafetyState::safe:
      break;
  }
  return {"SAFE", Tone::good, "Measured peak memory stays below the limit with the stated margin."};
}

}  // namespace

const char* tone_class(Tone tone) {
  constexpr const char* kClasses[] = {"good", "neutral", "warning", "bad"};
  return kClasses[static_cast<int>(tone)];
}

std::size_t count_samples(const RunRecord& run) {
  std::size_t count = 0;
  for (const Trial& trial : run.trials) count += trial.samples.size();
  return count;
}

double discarded_share(const RunRecord& run) {
  const std::size_t samples = count_samples(run);
  return samples == 0 ? 0 : run.result.discarded_samples / static_cast<double>(samples);
}

bool is_disturbed(const RunRecord& run) { return discarded_share(run) > kNoisyShare; }

std::vector<Badge> badges(const RunRecord& run) {
  const TuneResult& result = run.result;
  std::vector<Badge> found;
  if (result.verdict.answer == Answer::none) {
    found.push_back({"NO ANSWER", Tone::bad, "No setting works."});
    return found;
  }
  if (result.verdict.answer == Answer::inconclusive) {
    found.push_back({"INCONCLUSIVE", Tone::warning,
                     "The trials do not settle which setting is the best; this one is no answer."});
  } else {
    found.push_back(safety_badge(result.verdict.safety));
  }
  if (result.ties.size() > 1) {
    found.push_back({fmt::format("TIE OF {}", result.ties.size()), Tone::neutral,
                     "Other settings cannot be told from it by these trials."});
  }
  const bool spread = result.noise_measured && result.noise > kNoisySpread;
  // One badge of load at most: turns beside load say more than discarded windows or the spread.
  if (result.verdict.beside_load) {
    found.push_back({"LOADED HOST", Tone::warning,
                     "Measured in turns beside other load: rates and gain are those beside it."});
  } else if (is_disturbed(run)) {
    found.push_back({"NOISY HOST", Tone::warning,
                     "Other load disturbed the measurements; the interval says how much."});
  } else if (spread) {
    found.push_back({"NOISY HOST", Tone::warning,
                     fmt::format("Repeats of one setting differ by {}; the interval allows for it.",
                                 format_percent(result.noise))});
  }
  const InferenceWorkload& reads = run.job.requests();
  // Without a place or a label file the engine works on lines that it draws itself.
  const bool drawn =
      run.job.infers() ? reads.place.empty() && reads.url.empty() : run.job.label_file().empty();
  if (run.job.command().empty() && drawn) {
    found.push_back({"EXTRAPOLATED", Tone::warning,
                     "Measured on a drawn batch without a data path; reading your data may be what "
                     "limits. Tune with --data."});
  }
  if (run.state == "interrupted" || run.state == "running" || run.state == "died") {
    found.push_back({"UNFINISHED", Tone::warning,
                     run.state == "running" ? "The search is still under way."
                                            : "The search was stopped before its end."});
  }
  return found;
}

std::string rate_text(const Interval& rate) {
  if (rate.median <= 0) return "unknown";
  return fmt::format("{} ({}..{})", format_count(rate.median), format_count(rate.low),
                     format_count(rate.high));
}

std::string gain_text(const Interval& gain) {
  if (gain.median <= 0) return "unknown";
  return fmt::format("{:.2f}x ({:.2f}x..{:.2f}x)", gain.median, gain.low, gain.high);
}

std::vector<std::string> used_gpus(const RunRecord& run) {
  if (!run.result.found) return {};
  std::vector<std::string> gpus = run.job.gpus();
  const int processes = run.result.recommendation.knobs.nproc;
  // Processes take the GPUs in turn, so the last ones stay unused where there are fewer processes.
  gpus.resize(std::min(gpus.size(), static_cast<std::size_t>(std::max(0, processes))));
  return gpus;
}

std::string gpus_text(const RunRecord& run) {
  const std::vector<std::string> gpus = used_gpus(run);
  if (gpus.empty()) return "";
  const auto count = static_cast<int>(gpus.size());
  const int processes = run.result.recommendation.knobs.nproc;
  // sentence_table.cpp has these words as patterns, for their Chinese.
  const std::string how =
      processes % count == 0
          ? how_many(processes / count, "process") + (count > 1 ? " on each of " : " on ")
          : fmt::format("{} processes, in turn, on ", processes);
  return how + join(gpus, ", ");
}

const Resource& main_resource(const RunRecord& run) {
  static const Resource kNone;
  const Safety& safety = run.result.verdict.safety;
  const Resource* found =
      safety.find(run.job.on_gpus() ? ResourceKind::gpu_memory : ResourceKind::host_memory);
  return found == nullptr ? kNone : *found;
}

double free_share(const RunRecord& run) {
  const Resource& of = main_resource(run);
  if (of.limit == 0) return -1;
  return std::max(1 - static_cast<double>(of.peak) / static_cast<double>(of.limit), 0.0);
}

bool is_excluded(Outcome outcome) {
  return outcome == Outcome::unsupported || outcome == Outcome::skipped;
}

std::vector<FailureGroup> failure_groups(const RunRecord& run) {
  std::vector<FailureGroup> groups;
  for (const Trial& trial : run.trials) {
    if (trial.ok()) continue;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const FailureGroup& other) {
      return other.outcome == trial.outcome && other.cause == trial.cause;
    });
    if (group == groups.end()) group = groups.insert(group, {trial.outcome, trial.cause, {}, 0});
    group->trials.push_back(&trial);
    group->seconds += trial.seconds;
  }
  std::stable_sort(groups.begin(), groups.end(), [](const FailureGroup& a, const FailureGroup& b) {
    if (is_excluded(a.outcome) != is_excluded(b.outcome)) return is_excluded(b.outcome);
    return a.trials.size() > b.trials.size();
  });
  return groups;
}

std::vector<Knobs> failed_settings(const FailureGroup& group) {
  std::vector<Knobs> settings;
  for (const Trial* trial : group.trials) {
    if (std::find(settings.begin(), settings.end(), trial->knobs) == settings.end()) {
      settings.push_back(trial->knobs);
    }
  }
  return settings;
}

Bilingual failed_settings_text(const FailureGroup& group) {
  constexpr std::size_t kMostNamed = 3;
  const std::vector<Knobs> settings = failed_settings(group);
  std::vector<std::string> named;
  for (const Knobs& knobs : settings) {
    if (named.size() < kMostNamed) named.push_back(knobs_text(knobs));
  }
  const std::string text = join(named, "; ");
  if (named.size() == settings.size()) return text;
  return phrase("{} and {} more", {text, fmt::format("{}", settings.size() - named.size())});
}

}  // namespace ocrtune
