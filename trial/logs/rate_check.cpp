// Three checks, in this order. Do the first six numbers only rise, so that they are totals? Does a
// line fit the usual pace of steps? Do rates and counted steps agree over the log? Pace and rate
// are compared with the medians of up to 25 usual lines.
#include "trial/logs/rate_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/stats.h"
#include "base/text.h"
#include "trial/logs/log_text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMinTotals = 6;  // lines that only rise
constexpr double kAlike = 2;           // growth a second of a total, from line to line
constexpr double kFactor = 1.5;        // between log and clock, that is worth a word
constexpr double kSame = 1.2;          // between a rate of all ranks and the clock
constexpr int kMinCompared = 5;        // lines
constexpr double kMinSeconds = 2;
constexpr std::size_t kMostCharacters = 4000;  // of a line that is looked at

// The number behind the word `name`, with its unit of time; blanks, ':' and '=' between them.
std::optional<double> number_of(std::string_view line, std::string_view name) {
  for (std::size_t at = line.find(name); at != std::string_view::npos;
       at = line.find(name, at + 1)) {
    if (at > 0 && in_a_word(line[at - 1])) continue;
    std::size_t digit = at + name.size();
    if (digit >= line.size() || in_a_word(line[digit])) continue;
    while (digit < line.size() &&
           std::string_view(" :=\"'").find(line[digit]) != std::string_view::npos) {
      ++digit;
    }
    const auto number = number_at(line, digit);
    if (!number || number->begin != digit || number->value < 0) continue;
    const std::string_view behind = line.substr(number->end);
    return number->value * (starts_with(behind, "ms") || starts_with(behind, " ms") ? 0.001 : 1);
  }
  return std::nullopt;
}

template <std::size_t N>
std::optional<double> first_of(std::string_view line,
                               const std::array<std::string_view, N>& names) {
  for (const std::string_view name : names) {
    if (const auto number = number_of(line, name)) return number;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> step_counter_in(std::string_view line) {
  static constexpr std::array<std::string_view, 6> kNames = {"global_step", "step", "iter",
                                                             "iteration",   "it",   "batch"};
  const auto named = first_of(lower(line.substr(0, kMostCharacters)), kNames);
  if (named) return named;
  // Chinese loops print the step between these two characters.
  constexpr std::string_view kOrdinal = "第", kStep = "步";
  const std::size_t at = line.find(kOrdinal);
  const auto number = at == line.npos ? std::nullopt : number_at(line, at + kOrdinal.size());
  if (number && starts_with(trim(line.substr(number->end)), kStep)) return number->value;
  return bracket_counter_in(line);
}

std::optional<double> bracket_counter_in(std::string_view line) {
  line = line.substr(0, kMostCharacters);
  for (std::size_t open = line.find('['); open != std::string_view::npos;
       open = line.find('[', open + 1)) {
    const auto done = number_at(line, open + 1);
    if (!done || done->end >= line.size() || line[done->end] != '/') continue;
    const std::size_t word = line.substr(0, open).find_last_not_of(" :");
    const bool of_epochs =
        word != std::string_view::npos && word >= 4 && lower(line.substr(word - 4, 5)) == "epoch";
    if (!of_epochs && number_at(line, done->end + 1)) return done->value;
  }
  return std::nullopt;
}

std::optional<double> data_share_in(std::string_view line) {
  static constexpr std::array<std::string_view, 8> kData = {
      "data_time",       "data time",    "datatime",    "reader_cost",
      "avg_reader_cost", "data_loading", "loader_time", "data"};
  static constexpr std::array<std::string_view, 8> kStep = {
      "batch_cost", "avg_batch_cost", "batch_time", "step_time",
      "iter_time",  "time",           "batch time", "elapsed"};
  const std::string low = lower(line.substr(0, kMostCharacters));
  const auto waited = first_of(low, kData);
  const auto step = waited ? first_of(low, kStep) : std::nullopt;
  // More waiting than the step took: the two are of different spans.
  if (!step || !(*step > 0) || *waited > *step) return std::nullopt;
  return *waited / *step;
}

// Seconds that a program counts since its start grow as the clock does; samples that it has done,
// as evenly as it works, and in whole numbers.
bool RateCheck::is_total(bool of_seconds) const {
  if (lines_.size() < kMinTotals) return false;
  double least = 1e300, most = 0;
  for (std::size_t i = 1; i < lines_.size(); ++i) {
    const double grown = lines_[i].value - lines_[i - 1].value;
    const double between = lines_[i].seconds - lines_[i - 1].seconds;
    if (!(grown > 0) || !(between > 0)) return false;
    // Samples are whole; rates that rise while a program warms up seldom are.
    if (!of_seconds && lines_[i].value != std::round(lines_[i].value)) return false;
    least = std::min(least, grown / between);
    most = std::max(most, grown / between);
  }
  if (of_seconds) return least > 1 / kAlike && most < kAlike;
  // Doubled at least over the six lines: a slow rise of a rate is none.
  return most < kAlike * least && lines_.back().value >= kAlike * lines_.front().value;
}

void RateCheck::look(std::string_view line, double now_seconds, double ranks, LogReading& reading) {
  // Counts and intervals are checked by the clock already.
  const bool lone = !reading.samples && !reading.seconds && !reading.step_count &&
                    !reading.sample_count &&
                    (reading.samples_per_second || reading.steps_per_second);
  if (!lone) return;
  const double printed = reading.printed_value;
  const bool of_seconds = reading.printed_seconds;
  if (!total_ && printed > 0 && lines_.size() < kMinTotals) {
    lines_.push_back({now_seconds, printed});
    total_ = found_ = is_total(of_seconds);
  }
  const auto step = step_counter_in(line);
  if (total_) {
    const bool of_steps = reading.steps_per_second.has_value();
    reading.samples_per_second = reading.steps_per_second = std::nullopt;
    if (!of_seconds) {
      (of_steps ? reading.step_count : reading.sample_count) = printed;
    } else if (last_.value > 0 && printed > last_.value) {
      // A line that came without a step counter stands for one step.
      const double steps = step && last_step_ ? *step - *last_step_ : 1;
      reading.steps_per_second = steps / (printed - last_.value);
      reading.partial = !(steps > 0);
    } else {
      reading.partial = true;
    }
    last_ = {now_seconds, printed};
    last_step_ = step;
    return;
  }
  const double between = last_.seconds > 0 ? now_seconds - last_.seconds : 0;
  auto& rate = reading.samples_per_second ? reading.samples_per_second : reading.steps_per_second;
  // Lines that come at once were kept back by a buffer: their distance is not that of the steps.
  if (step && last_step_ && between > kAtOnceSeconds) {
    const bool anew = *step < *last_step_ / 2;  // an epoch; ranks that print lag by less
    const double steps = anew ? *step : *step - *last_step_;
    // The line's distance to the one before is the pace of its steps.
    if (steps > 0) judge_by_pace(between / steps, *rate);
  }
  last_ = {now_seconds, printed};
  last_step_ = step;
  if (reading.steps_per_second && between > 0) {
    impossible_ = 1 / *reading.steps_per_second > kFactor * between ? impossible_ + 1 : 0;
    if (impossible_ == kMinCompared && !noted_) {
      noted_ = true;
      note_ = fmt::format(
          "the log says that a step takes {}, and a line came each {}: the number may be a total "
          "or a mean of another time",
          format_duration(1 / *reading.steps_per_second), format_duration(between));
    }
  }
  if (reading.samples_per_second) {
    compare(step, now_seconds, *reading.samples_per_second * ranks, ranks);
  }
}

void RateCheck::judge_by_pace(double pace, double& rate) {
  constexpr std::size_t kFewest = 3, kMost = 25;
  constexpr double kPause = 2;    // times the usual pace; guess
  constexpr double kShown = 0.9;  // of the usual rate: a mean that holds the pause falls below
  constexpr double kJumps = 4;    // times the usual rate, or so much less; guess
  const bool known = paces_.size() >= kFewest;
  const double usual_pace = median(paces_), usual_rate = median(rates_);
  const double apart = known ? std::fabs(std::log(rate / usual_rate)) : 0;
  // A pause: the line came late, yet prints the usual rate, so that rate leaves the pause out.
  if (known && pace > kPause * usual_pace && rate > kShown * usual_rate) {
    rate *= usual_pace / pace;
  } else if (apart > std::log(kJumps) && pace * kPause > usual_pace && pace < kPause * usual_pace) {
    // The rate jumped and the pace did not: a clock that went wrong.
    rate = usual_rate * usual_pace / pace;
  } else if (paces_.size() < kMost) {
    // Only usual lines are kept, or the medians would drift with what is corrected.
    paces_.push_back(pace);
    rates_.push_back(rate);
  }
}

void RateCheck::compare(std::optional<double> step, double now_seconds, double rate, double ranks) {
  if (!step) return;
  const bool begins = begin_seconds_ < 0 || *step <= begin_step_;  // an epoch may count anew
  if (begins) {
    begin_seconds_ = last_seconds_ = now_seconds;
    begin_step_ = *step;
    samples_ = counted_ = 0;
    compared_ = 0;
    return;
  }
  samples_ += rate * (now_seconds - last_seconds_);
  last_seconds_ = now_seconds;
  const double seconds = now_seconds - begin_seconds_;
  const double steps = *step - begin_step_;
  counted_ = steps * samples_of_a_step_;
  const bool batch_known = samples_of_a_step_ > 1;
  if (++compared_ < kMinCompared || seconds < kMinSeconds || noted_ || !batch_known) return;
  if (counted_ < kFactor * samples_ && samples_ < kFactor * counted_) return;
  noted_ = true;
  job_ = ranks > 1 && samples_ < kSame * ranks * counted_ && ranks * counted_ < kSame * samples_;
  if (job_) begin_seconds_ = -1;  // its rates count once from here on
  note_ = fmt::format(
      "the log says {} samples/s, the clock {}: {:g} steps of {:g} samples in {}; the batch, "
      "--metric-of rank|job or the number that is read may be another",
      format_count(samples_ / seconds), format_count(counted_ / seconds), steps, samples_of_a_step_,
      format_duration(seconds));
}

bool RateCheck::take_found_job() { return std::exchange(job_, false); }

double RateCheck::counted_share() const {
  constexpr int kFewest = 2;  // lines after the first
  constexpr double kShortest = 1;
  const bool enough = compared_ >= kFewest && last_seconds_ - begin_seconds_ >= kShortest;
  return enough && samples_ > 0 && !total_ ? counted_ / samples_ : 0;
}

bool RateCheck::take_found_total() { return std::exchange(found_, false); }

std::string RateCheck::take_note() { return std::exchange(note_, std::string()); }

}  // namespace ocrtune
