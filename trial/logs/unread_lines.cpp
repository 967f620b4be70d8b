// What is found here is used for words alone: it is named as an option and never read by itself.
// Forms are lines with their digits as "#"; the one that speaks of training and came most often is
// quoted.
#include "trial/logs/unread_lines.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/text.h"
#include "trial/logs/log_dialects.h"
#include "trial/logs/log_text.h"
#include "trial/logs/rate_check.h"

namespace ocrtune {
namespace {

constexpr std::size_t kKept = 60;        // lines on which readers are tried
constexpr std::size_t kMostForms = 200;  // that are told apart
constexpr std::size_t kFormBytes = 160;  // of a line
constexpr std::int64_t kOften = 20;
constexpr double kLongSeconds = 20;
constexpr std::size_t kQuotedBytes = 110;

std::string form_of(std::string_view line) {
  std::string form;
  for (const char c : line.substr(0, kFormBytes)) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit) {
      form += c;
    } else if (form.empty() || form.back() != '#') {
      form += '#';
    }
  }
  return form;
}

bool speaks_of_training(const std::string& form) {
  static constexpr std::array<std::string_view, 6> kWords = {"loss", "step",     "iter",
                                                             "acc",  "accuracy", "epoch"};
  if (form.find('#') == std::string::npos) return false;
  const std::string low = lower(form);
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    const std::size_t at = low.find(word);
    return at != std::string::npos && (at == 0 || !in_a_word(low[at - 1]));
  });
}

// A word of the line that stands before a number and whose name is one of a speed.
std::string speed_word(const std::string& line) {
  static constexpr std::array<std::string_view, 7> kSpeeds = {
      "speed", "throughput", "rate", "per_sec", "persec", "perf", "qps"};
  static constexpr std::array<std::string_view, 4> kTimes = {"step_time", "time_per_step",
                                                             "iter_time", "batch_time"};
  const auto has = [](const std::string& word, const auto& parts) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](std::string_view part) { return word.find(part) != std::string::npos; });
  };
  const std::string low = lower(line);
  for (std::size_t at = 0; at < low.size();) {
    std::size_t end = at;
    while (end < low.size() && in_a_word(low[end])) ++end;
    const std::string word = low.substr(at, end - at);
    at = end + 1;
    const bool rate = has(word, kSpeeds) && word.find("learning") == std::string::npos;
    if (word.empty() || (!rate && !has(word, kTimes))) continue;
    const std::string metric = word + (rate ? "" : ":s/step");
    const auto unit = rate ? std::nullopt : parse_metric_unit("s/step");
    // The option is named only if it reads the line from which it comes.
    if (metric_dialect(word, unit)(line)) return metric;
  }
  return "";
}

}  // namespace

void UnreadLines::add(const std::string& line, double now_seconds) {
  // Control bytes of a binary output would spoil the terminal and every quotation.
  if (!is_text(line)) {
    binary_ = true;
    return;
  }
  ++lines_;
  std::string plain = plain_line(line);
  const std::string key = form_of(plain);
  const auto found = forms_.find(key);
  // Known forms are still counted when there is no room for new ones.
  if (found != forms_.end() || forms_.size() < kMostForms) {
    Form& form = forms_[key];
    if (++form.count == 1) {
      form.first_seconds = now_seconds;
      form.of_training = speaks_of_training(key);
    }
    form.last_seconds = now_seconds;
    form.example = plain;
  }
  latest_.emplace_back(now_seconds, std::move(plain));
  if (latest_.size() > kKept) latest_.pop_front();
}

bool UnreadLines::training_goes_on() const {
  return std::any_of(forms_.begin(), forms_.end(), [](const auto& one) {
    const Form& form = one.second;
    return form.of_training && form.count >= kOften &&
           form.last_seconds - form.first_seconds >= kLongSeconds;
  });
}

bool UnreadLines::tell_of_training() const {
  return std::any_of(forms_.begin(), forms_.end(),
                     [](const auto& one) { return one.second.of_training; });
}

const UnreadLines::Form* UnreadLines::commonest() const {
  const Form* best = nullptr;
  for (const auto& [key, form] : forms_) {
    const auto rank = [](const Form& one) { return std::pair(one.of_training, one.count); };
    if (best == nullptr || rank(form) > rank(*best)) best = &form;
  }
  return best;
}

std::string UnreadLines::counting_pattern() const {
  std::vector<double> counts;
  for (const auto& [seconds, line] : latest_) {
    if (const auto count = bracket_counter_in(line)) counts.push_back(*count);
  }
  // Two counts may grow by chance.
  if (counts.size() < 3) return "";
  int grown = 0, by_batches = 0;
  for (std::size_t i = 1; i < counts.size(); ++i) {
    const double growth = counts[i] - counts[i - 1];
    if (growth <= 0) continue;
    ++grown;
    by_batches += batch_ > 1 && std::fmod(growth, batch_) == 0 ? 1 : 0;
  }
  if (grown == 0) return "";
  return fmt::format("regex:\\[(?<{}>[0-9]+)/", by_batches == grown ? "sample" : "step");
}

std::string UnreadLines::reason(const std::string& reader, const std::string& followed_file,
                                std::string option) const {
  if (lines_ == 0 && binary_) {
    return "what it printed is binary and no text; --log-file names a file that has its speed, "
           "--log-reader runs counts whole runs";
  }
  if (lines_ == 0) {
    return followed_file.empty()
               ? "it printed no line: where it writes its speed to a file, --log-file names that; "
                 "a "
                 "bar of rich is drawn for a terminal, or with --env FORCE_COLOR=1"
               : fmt::format("no line was written to {}", followed_file);
  }
  std::string text =
      reader.empty()
          ? fmt::format("not one of {} printed holds a speed", how_many(lines_, "line"))
          : fmt::format("not one of {} printed holds a number that log reader '{}' knows",
                        how_many(lines_, "line"), reader);
  const Form* form = commonest();
  const std::string example = form == nullptr ? std::string() : form->example;
  text += fmt::format(", such as '{}'", quoted_line(example, kQuotedBytes));
  if (option.empty()) {
    const std::string metric = speed_word(example);
    if (!metric.empty()) option = fmt::format("--metric {} would read it", metric);
  }
  if (option.empty() && !counting_pattern().empty()) {
    option = fmt::format("--log-reader '{}' would count them", counting_pattern());
  }
  if (!option.empty()) return text + "; " + option;
  return text +
         "; --metric NAME names the number that is the speed, --log-file a file that has it, "
         "--log-reader runs counts whole runs";
}

}  // namespace ocrtune
