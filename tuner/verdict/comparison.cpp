// Two fits, one a run, by the noise that both runs have between repeats. The p-values are adjusted
// for the number of settings: a comparison of fifty settings would else find some change by chance.
#include "tuner/verdict/comparison.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/files.h"
#include "base/normal.h"
#include "base/random.h"
#include "base/stats.h"
#include "base/text.h"
#include "tuner/job/job_workload.h"
#include "tuner/models/repeats.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {
namespace {

constexpr double kSignificant = 0.05;
constexpr double kMinChange = 0.02;    // alike: surely smaller than this
constexpr std::size_t kMinTrials = 4;  // of either run: fewer decide nothing
constexpr int kRounds = 400;           // of the bootstrap over settings

SettingChange change_of(const Knobs& knobs, const Setting& before, const Setting& after) {
  SettingChange change;
  change.knobs = knobs;
  change.from_trials = before.rates.size() >= kMinTrials && after.rates.size() >= kMinTrials;
  change.before = before.mean_rate;
  change.after = after.mean_rate;
  change.ratio = ratio_interval(change.after, change.before);
  change.p = p_of_no_change(change.ratio);
  return change;
}

// Between repeats of a setting within either run; what changed from one to the other is no noise.
double noise_of(const RunRecord& before, const RunRecord& after) {
  const double a = repeat_noise(before.trials, kExpectedNoise);
  const double b = repeat_noise(after.trials, kExpectedNoise);
  return std::sqrt((a * a + b * b) / 2);
}

// Benjamini-Hochberg: the i-th smallest of m times m / i, never above the one after it.
void adjust(std::vector<SettingChange>& changes) {
  std::sort(changes.begin(), changes.end(),
            [](const SettingChange& a, const SettingChange& b) { return a.p > b.p; });
  double last = 1;
  const auto count = static_cast<double>(changes.size());
  double rank = count;
  for (SettingChange& change : changes) {
    // Changes are sorted from the largest p on: `last` is the one above.
    last = std::min(last, change.p * count / rank);
    change.p = last;
    rank -= 1;
  }
}

Interval overall_ratio_of(const std::vector<SettingChange>& changes) {
  if (changes.empty()) return {};
  Random random(1);
  std::vector<double> logs, deviations, means;
  for (const SettingChange& change : changes) {
    logs.push_back(std::log(change.ratio.median));
    // Back from the 95 % interval to one standard error.
    deviations.push_back(std::log(change.ratio.high / change.ratio.median) / kNormal95);
  }
  for (int round = 0; round < kRounds; ++round) {
    double sum = 0;
    for (std::size_t i = 0; i < logs.size(); ++i) {
      const auto last = static_cast<std::int64_t>(logs.size()) - 1;
      const auto drawn = static_cast<std::size_t>(random.integer(0, last));
      sum += logs[drawn] + deviations[drawn] * random.normal();
    }
    means.push_back(sum / static_cast<double>(logs.size()));
  }
  return {std::exp(mean(logs)), std::exp(quantile(means, 0.025)), std::exp(quantile(means, 0.975))};
}

Change classify(const SettingChange& change) {
  if (!change.from_trials) return Change::undecided;
  const Interval& ratio = change.ratio;
  // Alike is a claim as well: it takes the whole interval.
  if (ratio.low >= 1 - kMinChange && ratio.high <= 1 + kMinChange) return Change::alike;
  const bool large = std::fabs(ratio.median - 1) >= kMinChange;
  if (!large || change.p >= kSignificant) return Change::undecided;
  return change.ratio.median > 1 ? Change::faster : Change::slower;
}

template <typename T>
std::string fact_text(const Fact<T>& fact) {
  return fact.known() ? fmt::format("{}", *fact.value) : "unknown";
}

// The same file under two names, or a copy of it, is the same data.
bool same_content(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return a == b;
  const auto first = read_file(a), second = read_file(b);
  return a == b || (first && second && *first == *second);
}

std::vector<Difference> differences_of(const RunRecord& a, const RunRecord& b) {
  std::vector<Difference> found;
  const auto note = [&](const std::string& what, const std::string& before,
                        const std::string& after) {
    if (before != after) found.push_back({what, before, after});
  };
  const Machine &m = a.machine, &n = b.machine;
  note("host", m.host, n.host);
  note("processor", m.cpu.model, n.cpu.model);
  note("kernel", m.kernel, n.kernel);
  note("usable CPUs", fact_text(m.cpu.usable_cpus), fact_text(n.cpu.usable_cpus));
  const auto limit = [](const Machine& machine) {
    const Fact<double>& bytes = machine.memory.limit_bytes;
    return bytes.known() ? format_bytes(static_cast<std::uint64_t>(*bytes.value)) : "unknown";
  };
  note("memory limit", limit(m), limit(n));
  note("GPUs", m.gpu_state, n.gpu_state);
  std::set<std::string> names;
  for (const auto& [name, version] : a.versions) names.insert(name);
  for (const auto& [name, version] : b.versions) names.insert(name);
  const auto version_of = [](const RunRecord& run, const std::string& name) {
    const auto at = run.versions.find(name);
    return at == run.versions.end() ? std::string("none") : at->second;
  };
  for (const std::string& name : names) note(name, version_of(a, name), version_of(b, name));
  note("model", a.job.model(), b.job.model());
  note("command", shell_join(a.job.command()), shell_join(b.job.command()));
  if (!same_content(a.job.label_file(), b.job.label_file())) {
    note("data", a.job.label_file(), b.job.label_file());
  }
  note("image width", std::to_string(a.job.width()), std::to_string(b.job.width()));
  return found;
}

Interval best_ratio_of(const RunRecord& before, const RunRecord& after) {
  const TuneResult &one = before.result, &other = after.result;
  if (!one.found || !other.found || one.objective != other.objective) return {};
  if (!one.inconclusive.empty() || !other.inconclusive.empty()) return {};
  // A rate beside load and one without say nothing of each other.
  if (one.verdict.beside_load != other.verdict.beside_load) return {};
  const Interval& a = before.result.recommendation.samples_per_second;
  const Interval& b = after.result.recommendation.samples_per_second;
  if (a.median <= 0 || a.low <= 0) return {};
  return ratio_interval(b, a);
}

std::vector<Reason> verdict_of(const RunComparison& comparison) {
  int faster = 0, slower = 0;
  for (const SettingChange& change : comparison.settings) {
    faster += change.change == Change::faster ? 1 : 0;
    slower += change.change == Change::slower ? 1 : 0;
  }
  std::vector<Reason> verdict;
  const Interval& best = comparison.best_ratio;
  if (best.median <= 0) {
    verdict.push_back(reason<ReasonCode::compared_without_recommendation>());
  } else if (best.low > 1 + kMinChange || best.high < 1 - kMinChange) {
    verdict.push_back({best.median > 1 ? ReasonCode::compared_faster : ReasonCode::compared_slower,
                       {decimal(100 * std::fabs(best.median - 1), 1)}});
  } else {
    verdict.push_back(reason<ReasonCode::compared_alike>());
  }
  verdict.push_back(reason<ReasonCode::compared_settings>(counted(comparison.settings.size()),
                                                          counted(faster), counted(slower)));
  const Interval& overall = comparison.overall_ratio;
  if (overall.median > 0) {
    verdict.push_back(reason<ReasonCode::compared_overall>(
        decimal(overall.median, 3), decimal(overall.low, 3), decimal(overall.high, 3)));
  }
  if (!comparison.same_machine) verdict.push_back(reason<ReasonCode::machines_differ>());
  return verdict;
}

// The script of a command, wherever it lies and whatever starts it: "train.py"; else its module, or
// its first word. What is no command of the user's is the engine's own.
std::string program_of(const RunRecord& run) {
  const bool own = std::holds_alternative<CommandJob>(run.job.kind) || run.job.serves();
  const std::vector<std::string>& command = run.job.command();
  if (!own) return "the built-in engine";
  if (run.job.serves()) return "a service";  // by its address, or started here
  std::string module;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string name = base_name(command[i]);
    if (name.find('{') != std::string::npos || starts_with(name, "-")) continue;
    for (const char* script : {".py", ".sh", ".pl", ".js", ".jar"}) {
      if (ends_with(name, script)) return name;
    }
    if (i > 0 && command[i - 1] == "-m") module = name;
  }
  if (!module.empty()) return module;
  const std::string name = base_name(command.front());
  return starts_with(name, "python") ? "python" : name;
}

std::string mode_of(const RunRecord& run) { return run.job.infers() ? "inference" : "training"; }

std::string unit_of(const RunRecord& run) {
  return rate_name(workload_of(run.job, run.search)->unit());
}

}  // namespace

Status comparable(const RunRecord& before, const RunRecord& after) {
  for (const auto& what : {mode_of, unit_of, program_of}) {
    const std::string one = what(before), other = what(after);
    if (one == other) continue;
    return Error{ErrorKind::usage,
                 fmt::format("run {} is of {} and run {} of {}: their rates cannot be compared",
                             before.id, one, after.id, other)};
  }
  return Status();
}

RunComparison compare_runs(const RunRecord& before, const RunRecord& after) {
  RunComparison comparison;
  comparison.before_id = before.id;
  comparison.after_id = after.id;
  comparison.same_machine = !before.machine.fingerprint.empty() &&
                            before.machine.fingerprint == after.machine.fingerprint;
  comparison.differences = differences_of(before, after);
  const double noise = noise_of(before, after);
  const auto a = settings_of(before.trials, noise), b = settings_of(after.trials, noise);
  for (const Setting& setting : a) {
    if (!setting.works()) continue;
    const Setting* other = find_setting(b, setting.summary.knobs);
    if (other == nullptr || !other->works()) continue;
    comparison.settings.push_back(change_of(setting.summary.knobs, setting, *other));
  }
  adjust(comparison.settings);
  for (SettingChange& change : comparison.settings) change.change = classify(change);
  std::stable_sort(comparison.settings.begin(), comparison.settings.end(),
                   [](const SettingChange& x, const SettingChange& y) {
                     return std::fabs(std::log(x.ratio.median)) >
                            std::fabs(std::log(y.ratio.median));
                   });
  comparison.overall_ratio = overall_ratio_of(comparison.settings);
  comparison.best_ratio = best_ratio_of(before, after);
  comparison.verdict = verdict_of(comparison);
  return comparison;
}

}  // namespace ocrtune
