// Trials and settings are arrays without keys, written by fmt; the library writes the rest.
// reports/page/trials.js reads a trial's fields in the order that stands below.
#include "reports/html/page_json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "reports/catalogue/cause_words.h"
#include "reports/catalogue/headline.h"
#include "reports/catalogue/plain_text.h"

namespace ocrtune {
namespace {

// trial: [id, setting, phase, repetition, outcome, cause, rate, peak_bytes, seconds, reason, why,
//         placement, started, reproduce, log, evidence[], samples[[rate, discarded_by]], step[4]]

// Both are guesses; page_test.cpp holds a page of 1,000 trials below 1.5 MB.
constexpr std::size_t kMaxText = 4000;       // bytes of one text
constexpr std::size_t kMaxLogs = 300 << 10;  // bytes of all log tails together

class Strings {
 public:
  std::size_t number(std::string_view text, std::size_t most = kMaxText) {
    std::string shown = plain_text(text, most);
    const auto [found, fresh] = numbers_.emplace(std::move(shown), numbers_.size());
    // An unordered_map keeps its elements where they are, so the pointer stays valid as it grows.
    if (fresh) order_.push_back(&found->first);
    return found->second;
  }
  std::string json() const {
    nlohmann::json texts = nlohmann::json::array();
    for (const std::string* text : order_) texts.push_back(*text);
    return texts.dump();
  }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<const std::string*> order_;
};

// Knobs that vary in this run, in the table's order; nproc, threads and batch always
// where they reach the command.
std::vector<std::string> shown_knobs(const RunRecord& run) {
  std::vector<std::string> names;
  for (const KnobRow& row : knob_table()) {
    if (!run.search.baseline.absent.contains(row.name)) names.emplace_back(row.name);
  }
  std::set<std::string> dims;
  for (const Trial& trial : run.trials) {
    for (const auto& [name, value] : trial.knobs.dims) dims.insert(name);
  }
  names.insert(names.end(), dims.begin(), dims.end());
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    std::set<std::string> values;
    for (const Trial& trial : run.trials) {
      values.insert(knob_text(trial.knobs, name));
      if (values.size() > 1) break;
    }
    if (values.size() > 1 || name == "nproc" || name == "threads" || name == "batch") {
      shown.push_back(name);
    }
  }
  return shown;
}

std::string number_text(double value) {
  // JSON has no NaN and no infinity.
  return std::isfinite(value) ? fmt::format("{:.5g}", value) : "0";
}

// Texts of the table that have a Chinese: causes and reasons.
nlohmann::json chinese_words(const RunRecord& run) {
  nlohmann::json words = nlohmann::json::object();
  const auto add = [&](const Bilingual& text) {
    if (text.chinese != text.english) words[plain_text(text.english, kMaxText)] = text.chinese;
  };
  std::set<std::string> said;
  for (const Trial& trial : run.trials) {
    if (said.insert(trial.cause).second) add(cause_name(trial.cause));
    if (said.insert(trial.reason).second) add({trial.reason, chinese_of(trial.reason)});
  }
  return words;
}

// Where the logs of failed trials find room first, then those of the others while it lasts.
std::vector<bool> logs_that_fit(const std::vector<Trial>& trials) {
  std::vector<bool> fits(trials.size());
  std::size_t bytes = 0;
  // ok() == failed means: in the first pass the working ones are left out, then the failed ones.
  for (const bool failed : {true, false}) {
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (trials[i].ok() == failed || bytes > kMaxLogs) continue;
      bytes += std::min(trials[i].log_tail.size(), kMaxText);
      fits[i] = bytes <= kMaxLogs;
    }
  }
  return fits;
}

StepTimes mean_step(const Trial& trial) {
  // Windows count alike here; figures/bottleneck.cpp weighs them by their steps.
  StepTimes sum;
  double count = 0;
  for (const Sample& sample : trial.samples) {
    if (!sample.clean()) continue;
    sum.data_seconds += sample.step.data_seconds;
    sum.compute_seconds += sample.step.compute_seconds;
    sum.all_reduce_seconds += sample.step.all_reduce_seconds;
    sum.wait_seconds += sample.step.wait_seconds;
    ++count;
  }
  if (count == 0) return {};
  return {sum.data_seconds / count, sum.compute_seconds / count, sum.all_reduce_seconds / count,
          sum.wait_seconds / count};
}

class TrialWriter {
 public:
  explicit TrialWriter(const RunRecord& run) : knobs_(shown_knobs(run)) {}

  const std::vector<std::string>& knobs() const { return knobs_; }

  std::size_t setting(const Knobs& knobs) {
    const auto [found, fresh] = settings_.emplace(knobs, settings_.size());
    if (fresh) {
      std::vector<std::string> numbers;
      for (const std::string& name : knobs_) {
        numbers.push_back(fmt::format("{}", strings_.number(plain_line(knob_text(knobs, name)))));
      }
      std::vector<std::string> env;
      for (const auto& [name, value] : knob_environment(knobs)) {
        env.push_back(name + "=" + shell_quote(value));
      }
      settings_json_ += fmt::format("{}[[{}],{},{}]", settings_json_.empty() ? "" : ",",
                                    join(numbers, ","), strings_.number(join(env, " ")),
                                    strings_.number(plain_line(knobs_text(knobs))));
    }
    return found->second;
  }

  void add(const Trial& trial, bool with_log) {
    const auto text = [this](std::string_view value) { return strings_.number(value); };
    auto out = std::back_inserter(trials_json_);
    if (!trials_json_.empty()) trials_json_ += ",\n";
    fmt::format_to(out, "[{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},[", ++trials_,
                   setting(trial.knobs), text(trial.phase), trial.repetition,
                   text(outcome_name(trial.outcome)), text(trial.cause),
                   number_text(trial.samples_per_second), trial.peak_bytes,
                   number_text(trial.seconds), text(trial.reason), text(trial.why),
                   text(trial.placement), text(trial.started), text(trial.reproduce),
                   text(with_log ? std::string_view(trial.log_tail) : std::string_view()));
    for (std::size_t i = 0; i < std::min<std::size_t>(trial.evidence.size(), 8); ++i) {
      fmt::format_to(out, "{}{}", i > 0 ? "," : "", text(trial.evidence[i]));
    }
    trials_json_ += "],[";
    for (std::size_t i = 0; i < std::min<std::size_t>(trial.samples.size(), 40); ++i) {
      const Sample& sample = trial.samples[i];
      fmt::format_to(out, "{}[{},{}]", i > 0 ? "," : "", number_text(sample.samples_per_second()),
                     text(sample.interference.spoilt_by));
    }
    const StepTimes step = mean_step(trial);
    fmt::format_to(out, "],[{},{},{},{}]]", number_text(step.data_seconds),
                   number_text(step.compute_seconds), number_text(step.all_reduce_seconds),
                   number_text(step.wait_seconds));
  }

  std::string json(const RunRecord& run, bool cut_logs) {
    const TuneResult& result = run.result;
    const auto setting_or_none = [&](bool known, const Knobs& knobs) {
      const auto found = settings_.find(knobs);
      return known && found != settings_.end() ? static_cast<std::int64_t>(found->second) : -1;
    };
    const auto chosen = setting_or_none(result.found, result.recommendation.knobs);
    const auto baseline = setting_or_none(true, result.baseline.knobs);
    nlohmann::json names = nlohmann::json::array();
    for (const std::string& name : knobs_) names.push_back(plain_line(name));
    nlohmann::json phases = nlohmann::json::object();
    for (const Trial& trial : run.trials) {
      const Bilingual words = phase_text(trial.phase, run.search);
      phases[plain_text(trial.phase, kMaxText)] = {words.english, words.chinese};
    }
    return fmt::format(
        "{{\"zh\":{},\"knobs\":{},\"strings\":{},\n\"settings\":[{}],\n\"trials\":[{}],"
        "\n\"chosen\":{},"
        "\"baseline\":{},\"limit_bytes\":{},\"cut_logs\":{},\"phases\":{},\"unit\":\"{}\"}}",
        chinese_words(run).dump(), names.dump(), strings_.json(), settings_json_, trials_json_,
        chosen, baseline, limit_bytes(run.job, run.search), cut_logs, phases.dump(),
        rate_unit(run));
  }

 private:
  std::vector<std::string> knobs_;
  Strings strings_;
  std::map<Knobs, std::size_t> settings_;
  std::string settings_json_, trials_json_;
  int trials_ = 0;  // so far, which numbers them
};

}  // namespace

std::string page_json(const RunRecord& run) {
  TrialWriter writer(run);
  const std::vector<bool> with_log = logs_that_fit(run.trials);
  bool cut_logs = false;
  for (std::size_t i = 0; i < run.trials.size(); ++i) {
    writer.add(run.trials[i], with_log[i]);
    cut_logs = cut_logs || (!with_log[i] && !run.trials[i].log_tail.empty());
  }
  return script_json(writer.json(run, cut_logs));
}

}  // namespace ocrtune
