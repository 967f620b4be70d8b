// Lines are grouped by their form (digits as "#", blanks left out), and each number keeps its place
// within the form. Whether a place counts or measures is found by its growth and by the clock, not
// by names alone. What is found is written as a pattern or metric for a log reader, so that it can
// be given as an option.
#include "trial/logs/line_numbers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "trial/logs/log_dialects.h"
#include "trial/logs/log_text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMostNumberForms = 60, kMostLines = 40;  // that are kept
constexpr std::size_t kRecent = 60;                            // lines of any form
constexpr std::size_t kLookedAt = 400;                         // characters of a line
constexpr std::size_t kPrefix = 20;            // marks before a number, behind its name
constexpr std::size_t kBarCounts = 4;          // multiples of the batch, and nothing else
constexpr double kAtOnce = 1e-6;               // seconds
constexpr double kSideBySide = 1.02;           // as many: one of both counts what fails, too
constexpr double kBetween = 0.05;              // of a time, that it may leave out; logarithm
constexpr double kSooner = 0.6, kLater = 1.1;  // of the time between two lines, that a time may be

bool is_digit_at(std::string_view text, std::size_t at) {
  return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
}

// The letters just before `end`, behind blanks and marks such as ": ", "=", "[".
std::string word_before(std::string_view line, std::size_t end) {
  while (end > 0 && std::string_view(" \t:=[(#'\"|").find(line[end - 1]) != line.npos) --end;
  std::size_t begin = end;
  while (begin > 0 && in_a_word(line[begin - 1])) --begin;
  return lower(line.substr(begin, end - begin));
}

// The letters that follow, with a slash between: "s", "ms", "img/s".
std::string word_behind(std::string_view line, std::size_t at) {
  while (at < line.size() && line[at] == ' ') ++at;
  std::size_t end = at;
  while (end < line.size() && (in_a_word(line[end]) || line[end] == '/')) ++end;
  return lower(line.substr(at, end - at));
}

template <std::size_t N>
bool is_among(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_sample_name(std::string_view word) {
  static constexpr std::array<std::string_view, 7> kNames = {"page", "file",     "image", "img",
                                                             "doc",  "document", "sample"};
  return is_among(word, kNames);
}

// "training_step" is one, too.
bool is_step_name(std::string_view word) {
  static constexpr std::array<std::string_view, 10> kNames = {
      "step",       "steps", "iter", "iters",  "iteration",
      "iterations", "batch", "it",   "update", "updates"};
  return is_among(word.substr(word.rfind('_') + 1), kNames);
}

// "step: 20", "1-20batch"; but of "epoch 3 step 20" the 3 is none.
bool counts_steps(const TimedNumbers& line, std::size_t index) {
  const LineNumber& number = line.numbers[index];
  if (is_step_name(word_before(line.line, number.begin))) return true;
  const bool joined = number.end < line.line.size() && in_a_word(line.line[number.end]);
  return joined && is_step_name(word_behind(line.line, number.end));
}

// Of a date, a clock, an address, a version: no number that counts or measures. "1-20", two numbers
// alone, is a range, and its end counts.
bool is_part_of_a_stamp(std::string_view line, const LineNumber& number) {
  const auto joins = [&](std::size_t at) {
    return at > 0 && at + 1 < line.size() && (line[at] == ':' || line[at] == '-') &&
           is_digit_at(line, at - 1) && is_digit_at(line, at + 1);
  };
  if (number.end < line.size() && joins(number.end)) return true;
  if (number.begin == 0 || !joins(number.begin - 1)) return false;
  std::size_t before = number.begin - 1;
  while (before > 0 && is_digit_at(line, before - 1)) --before;
  return line[number.begin - 1] == ':' || (before > 0 && joins(before - 1));
}

// 1000 of "[ 20/1000]": what the counter at `index` counts to.
std::optional<double> total_of(const TimedNumbers& line, std::size_t index) {
  if (index + 1 >= line.numbers.size()) return std::nullopt;
  const LineNumber& next = line.numbers[index + 1];
  const std::string_view between = std::string_view(line.line).substr(
      line.numbers[index].end, next.begin - line.numbers[index].end);
  if (trim(between) != "/" || !next.whole) return std::nullopt;
  const bool date = next.end < line.line.size() && line.line[next.end] == '/';
  return date ? std::nullopt : std::optional<double>(next.value);
}

// The same, of a count that is not of epochs.
std::optional<double> counts_to(const TimedNumbers& line, std::size_t index) {
  const std::string name = word_before(line.line, line.numbers[index].begin);
  const bool epochs = name == "epoch" || name == "epochs" || name == "ep";
  return epochs ? std::nullopt : total_of(line, index);
}

// A pattern for the text from `from` to the number at `begin`, digits and blanks left open: they
// vary in width from line to line.
std::string pattern_between(const std::string& line, std::size_t from, std::size_t begin) {
  // "step=" is not that of "micro_step=".
  const bool word = from < begin && in_a_word(line[from]);
  std::string pattern = word && !(from > 0 && in_a_word(line[from - 1])) ? "\\b" : "";
  for (std::size_t at = from; at < begin;) {
    std::size_t end = at + 1;
    if (is_digit_at(line, at)) {
      while (end < begin && is_digit_at(line, end)) ++end;
      pattern += "[0-9]+";
    } else if (line[at] == ' ') {
      while (end < begin && line[end] == ' ') ++end;
      if (end < begin) pattern += " *";
    } else {
      pattern += RE2::QuoteMeta(line.substr(at, 1));
    }
    at = end;
  }
  return pattern + " *";
}

// Where the first number stands that the pattern finds.
std::size_t first_of(const std::string& pattern, const std::string& line) {
  re2::StringPiece number;
  if (!RE2::PartialMatch(line, pattern + "([0-9]+)", &number)) return line.size();
  return static_cast<std::size_t>(number.data() - line.data());
}

// A pattern for the text before the number and the number: the marks before it and the letters of
// its name, or as many words more as tell it from earlier ones, "epoch is [1], batch is [".
std::string pattern_of(const TimedNumbers& line, std::size_t index, const char* group) {
  constexpr int kMostWords = 3;
  const std::string& text = line.line;
  const std::size_t begin = line.numbers[index].begin;
  std::size_t from = begin;
  const auto is_mark = [](char c) {
    return std::string_view(" \t:=[](#'\"|/-0123456789").find(c) != std::string_view::npos;
  };
  std::string pattern;
  for (int words = 0; words < kMostWords; ++words) {
    while (from > 0 && begin - from < kPrefix && is_mark(text[from - 1])) --from;
    while (from > 0 && in_a_word(text[from - 1]) && !is_digit_at(text, from - 1)) --from;
    std::size_t name = from;
    while (name < begin && text[name] == ' ') ++name;
    pattern = pattern_between(text, name, begin);
    if (first_of(pattern, text) == begin) break;
  }
  return fmt::format("{}(?<{}>[0-9]+)", pattern, group);
}

struct Growth {
  double sum = 0;
  double least = 0;        // of two lines that follow each other
  bool by_batches = true;  // every value is a multiple of the batch
  std::size_t values = 0;  // that differ
};

// How a number grew from line to line; none: it does not count anything.
std::optional<Growth> growth_of(const std::vector<TimedNumbers>& lines, std::size_t index,
                                int batch) {
  Growth growth;
  std::size_t falls = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const LineNumber& number = lines[i].numbers[index];
    if (!number.whole || is_part_of_a_stamp(lines[i].line, number)) return std::nullopt;
    // Batch 1: every whole number is a multiple.
    if (std::fmod(number.value, std::max(1, batch)) != 0) growth.by_batches = false;
    if (i == 0) continue;
    const double grown = number.value - lines[i - 1].numbers[index].value;
    if (grown < 0) ++falls;  // a new epoch
    if (grown <= 0) continue;
    ++growth.values;
    growth.sum += grown;
    growth.least = growth.least == 0 ? grown : std::min(growth.least, grown);
  }
  // A fall for every three growths at most: numbers that go up and down are measurements.
  if (growth.values < 2 || falls > growth.values / 3) return std::nullopt;
  return growth;
}

// "iteration 214/300/301": of counts that grow side by side the first one that misses nothing.
std::size_t widest(const std::vector<TimedNumbers>& lines, std::size_t index, int batch) {
  std::size_t best = index;
  double most = 0;
  for (const TimedNumbers& last = lines.back(); index < last.numbers.size(); ++index) {
    const auto growth = growth_of(lines, index, batch);
    if (!growth) break;
    // A count that grows by 2 % more than its neighbour misses less.
    if (growth->sum > kSideBySide * most) {
      best = index;
      most = growth->sum;
    }
    const std::size_t end = last.numbers[index].end;
    const bool beside = index + 1 < last.numbers.size() &&
                        last.line.substr(end, last.numbers[index + 1].begin - end) == "/";
    if (!beside) break;
  }
  return best;
}

// 1, 2, 5, 10, 20, 50, 100 ...: how often people have a line printed.
bool is_round(double count) {
  while (count >= 10 && std::fmod(count, 10) == 0) count /= 10;
  return count == 1 || count == 2 || count == 5 || count == 25;
}

bool speaks_of_time(std::string_view word) {
  static constexpr std::array<std::string_view, 7> kParts = {"time",   "latency", "elapsed", "took",
                                                             "elapse", "cost",    "duration"};
  return std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return word.find(part) != word.npos; });
}

bool speaks_of_steps(const std::string& line) {
  const std::string low = lower(line);
  return low.find("loss") != low.npos || low.find("step") != low.npos ||
         low.find("iter") != low.npos || low.find("epoch") != low.npos;
}

// NAME:UNIT with which log reader metric reads this number; empty: it cannot.
std::string metric_of(const TimedNumbers& line, std::size_t index, bool of_a_step) {
  const LineNumber& number = line.numbers[index];
  const std::string before = word_before(line.line, number.begin);
  const std::string behind = word_behind(line.line, number.end);
  const double wanted = *seconds_of(line, index);
  const bool milliseconds = wanted != number.value;
  const std::string unit =
      std::string(milliseconds ? "ms" : "s") + (of_a_step ? "/step" : "/image");
  const auto names =
      speaks_of_time(before) ? std::array{before, behind} : std::array{behind, before};
  // Every candidate name is tried on the line itself: only what reads the same number is offered.
  for (const std::string& name : names) {
    if (name.empty() || is_digit_at(name, 0)) continue;
    const auto reading = metric_dialect(name, parse_metric_unit(unit))(line.line);
    if (reading && std::abs(reading->printed_value - wanted) <= 1e-9 * wanted) {
      return name + ":" + unit;
    }
  }
  return "";
}

bool is_other_work(std::string_view before) {
  return names_evaluation(before) || names_preparation(before);
}

struct Wait {
  double seconds = 0;  // between two lines
  double said = 0;     // by the number
};

// How far what was said is from the clock: the logarithm of their ratio. Empty: they disagree.
std::optional<double> off_the_clock(const std::vector<Wait>& waits) {
  std::size_t agree = 0, seen = 0;
  double said = 0, seconds = 0;
  for (const Wait& wait : waits) {
    if (!(wait.said > 0) || !(wait.seconds > 0)) continue;
    ++seen;
    said += wait.said;
    seconds += wait.seconds;
    if (wait.said > kSooner * wait.seconds && wait.said < kLater * wait.seconds) ++agree;
  }
  // One line may have waited for something else, such as a checkpoint.
  if (seen < 3 || agree + 1 < seen) return std::nullopt;
  return std::abs(std::log(said / seconds));
}

// The same, for each that `counter` has grown by; no counter: one for each line.
std::optional<double> off_the_clock(const std::vector<TimedNumbers>& lines, std::size_t index,
                                    std::optional<std::size_t> counter) {
  const auto count = [&](const TimedNumbers& line) { return line.numbers[*counter].value; };
  std::vector<Wait> waits;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const double grown = counter ? count(lines[i]) - count(lines[i - 1]) : 1;
    waits.push_back(
        {lines[i].seconds - lines[i - 1].seconds, seconds_of(lines[i], index).value_or(0) * grown});
  }
  return off_the_clock(waits);
}

// The counter of steps beside a time, where several lie between two lines: then a time as long as
// the line took is not of one. One that grows by the batch counts the samples of a step.
std::optional<std::size_t> several_steps_between(const std::vector<TimedNumbers>& lines,
                                                 int batch) {
  const TimedNumbers& last = lines.back();
  for (std::size_t i = 0; i < last.numbers.size(); ++i) {
    if (!counts_steps(last, i) && !counts_to(last, i)) continue;
    const auto growth = growth_of(lines, i, 1);
    if (growth && growth->least > 1 && growth->least != batch) return i;
  }
  return std::nullopt;
}

// It says more than the clock: a clock itself, since the start, or a time of several steps.
// `counter`: of steps, several of which lie between two lines.
bool is_no_single_time(const std::vector<TimedNumbers>& lines, std::size_t index,
                       std::optional<std::size_t> counter) {
  const double seconds = lines.back().seconds - lines.front().seconds;
  const auto said = [&](const TimedNumbers& line) { return seconds_of(line, index).value_or(0); };
  double of_steps = 0;
  for (std::size_t i = 1; counter && i < lines.size(); ++i) {
    const double grown = lines[i].numbers[*counter].value - lines[i - 1].numbers[*counter].value;
    of_steps += std::max(0.0, grown) * said(lines[i]);
  }
  const double grown = said(lines.back()) - said(lines.front());
  const bool is_a_clock = grown > kSooner * seconds && grown < kLater * seconds;
  return lines.size() > 3 && (is_a_clock || of_steps > kLater * seconds);
}

// A time may be of one line, unless `several` steps lie between two, or of what a counter beside it
// has grown by: the nearer one is meant.
std::optional<double> nearest_to_the_clock(const std::vector<TimedNumbers>& lines,
                                           std::size_t index, bool several) {
  auto least = several ? std::nullopt : off_the_clock(lines, index, std::nullopt);
  for (std::size_t i = 0; i < lines.back().numbers.size(); ++i) {
    const auto off = growth_of(lines, i, 1) ? off_the_clock(lines, index, i) : std::nullopt;
    if (off && (!least || *off < *least)) least = off;
  }
  return least;
}

// A pattern for a time of a step, with the words on both sides; empty: there are none. `group`:
// what the time is taken for, in place of a time.
std::string time_pattern(const TimedNumbers& line, std::size_t index, const char* group = nullptr) {
  const LineNumber& number = line.numbers[index];
  const std::size_t from = index > 0 ? line.numbers[index - 1].end : 0;
  const std::string behind = word_behind(line.line, number.end);
  std::string before;
  bool words = !behind.empty();
  for (const char c : line.line.substr(from, number.begin - from)) {
    words = words || in_a_word(c);
    if (c != ' ') before += RE2::QuoteMeta(std::string(1, c));
    if (c == ' ' && !before.ends_with(" *")) before += " *";
  }
  const auto unit = parse_metric_unit(behind);
  const bool milliseconds = unit && unit->seconds == 0.001;
  // Minutes and hours are no time of a step, and no group of the reader takes them.
  if (!words || (unit && unit->seconds != 1 && !milliseconds)) return "";
  return fmt::format("{}(?<{}>[0-9.e+-]+) *{}", before,
                     group != nullptr ? group
                     : milliseconds   ? "milliseconds_per_step"
                                      : "seconds_per_step",
                     RE2::QuoteMeta(behind));
}

}  // namespace

std::vector<LineNumber> numbers_in(std::string_view line) {
  std::vector<LineNumber> numbers;
  line = line.substr(0, kLookedAt);
  for (std::size_t at = 0; at < line.size();) {
    if (!is_digit_at(line, at)) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (is_digit_at(line, end)) ++end;
    const auto number = number_at(line, at);
    LineNumber found;
    found.begin = at;
    found.end = number ? std::max(end, number->end) : end;
    found.value = number ? number->value : 0;
    found.whole = found.end == end;
    // "conv2d" and "user@host" hold digits that count nothing.
    const bool in_a_name = at > 0 && (in_a_word(line[at - 1]) || line[at - 1] == '@');
    if (!in_a_name) numbers.push_back(found);
    at = found.end;
  }
  return numbers;
}

std::vector<double> totals_in(const std::string& line) {
  const TimedNumbers timed{0, line, numbers_in(line)};
  std::vector<double> totals;
  for (std::size_t i = 0; i < timed.numbers.size(); ++i) {
    if (const auto total = counts_to(timed, i)) totals.push_back(*total);
  }
  return totals;
}

std::optional<double> seconds_of(const TimedNumbers& line, std::size_t index) {
  const LineNumber& number = line.numbers[index];
  if (!(number.value > 0) || is_part_of_a_stamp(line.line, number)) return std::nullopt;
  const std::string behind = word_behind(line.line, number.end);
  const auto unit = parse_metric_unit(behind);
  if (unit && behind.find('/') == behind.npos && unit->seconds < 60) {
    return number.value * unit->seconds;
  }
  if (!behind.empty() && behind.find('/') != behind.npos) return std::nullopt;
  if (number.whole || !speaks_of_time(word_before(line.line, number.begin))) return std::nullopt;
  return number.value;
}

void LineForms::add(const std::string& line, double now_seconds) {
  TimedNumbers timed{now_seconds, line.substr(0, kLookedAt), numbers_in(line)};
  if (timed.numbers.empty()) return;
  // Bars change their form as they grow, so lines with "a/b" are kept beside the forms.
  for (std::size_t i = 0; i < timed.numbers.size() && counts_.size() < kMostLines; ++i) {
    if (!counts_to(timed, i)) continue;
    counts_.push_back(timed);
    break;
  }
  std::string form;
  std::size_t from = 0;
  const auto keep = [&](std::size_t end) {  // digits of a name, "page_3", make no other form
    for (; from < end; ++from) {
      const char c = is_digit_at(timed.line, from) ? '#' : timed.line[from];
      if (c != '#' || form.empty() || form.back() != '#') form += c;
    }
  };
  for (const LineNumber& number : timed.numbers) {
    keep(number.begin);
    form += form.empty() || form.back() != '#' ? "#" : "";
    from = number.end;
  }
  keep(timed.line.size());
  // Programs pad with blanks: " 9/100" and "10/100" are one form.
  std::erase(form, ' ');
  // Processes count each for itself.
  if (const auto process = process_named(timed.line, 1)) form += fmt::format(" of {}", *process);
  recent_.emplace_back(form, timed);
  if (recent_.size() > kRecent) recent_.pop_front();
  const auto found = forms_.find(form);
  // New forms are dropped, not old ones.
  if (found == forms_.end() && forms_.size() >= kMostNumberForms) return;
  auto& lines = forms_[form];
  if (lines.size() < kMostLines) lines.push_back(std::move(timed));
}

std::optional<FoundCounter> LineForms::counter(std::size_t lines, int batch, bool open) const {
  std::optional<FoundCounter> found;
  bool named = false;
  for (const auto& [form, all] : forms_) {
    if (all.size() < lines) continue;
    const TimedNumbers& last = all.back();
    for (std::size_t i = 0; i < last.numbers.size(); ++i) {
      // The words in front speak of another kind of work, so no number behind them counts.
      if (is_other_work(last.line.substr(0, last.numbers[i].begin))) break;
      const std::string name = word_before(last.line, last.numbers[i].begin);
      const auto total = counts_to(last, i);
      const bool steps = counts_steps(last, i), ones = !steps && is_sample_name(name);
      // A number that is called a step wins over one that is called nothing.
      if ((!steps && !ones && !total) || (found && (named || !steps))) continue;
      // Above its total it is no counter, as in "5/3".
      if (total && last.numbers[i].value > *total) continue;
      const std::size_t counts_all = widest(all, i, batch);
      const auto growth = growth_of(all, counts_all, batch);
      // Pages that are numbered one by one grow by one for each line, and by nothing else.
      if (!growth || (ones && growth->sum != static_cast<double>(all.size() - 1))) continue;
      const bool batches = batch > 1 && growth->by_batches && growth->least >= batch;
      // Every tenth step, or every tenth sample?
      const bool unsure = batches && (batch < kSureBatch || is_round(growth->least));
      // Rather nothing than a guess by a factor of the batch.
      if (open != (!steps && !ones && unsure)) continue;
      const auto counts = open        ? FoundCounter::Counts::either
                          : steps     ? FoundCounter::Counts::steps
                          : ones      ? FoundCounter::Counts::samples
                          : batches   ? FoundCounter::Counts::samples
                          : batch > 1 ? FoundCounter::Counts::steps
                                      : FoundCounter::Counts::either;
      const bool samples = counts == FoundCounter::Counts::samples;
      found = FoundCounter{counts, pattern_of(last, counts_all, samples ? "sample" : "step"),
                           last.line, growth->least};
      named = steps;
    }
  }
  return found;
}

std::optional<FoundCounter> LineForms::bar_of_samples(int batch) const {
  std::set<double> counts;
  const TimedNumbers* last = nullptr;
  std::size_t at = 0;
  for (const TimedNumbers& line : counts_) {
    for (std::size_t i = 0; i < line.numbers.size(); ++i) {
      if (!counts_to(line, i)) continue;
      const double count = line.numbers[i].value;
      // A last, smaller batch ends at the total, which need not be a multiple.
      if (std::fmod(count, batch) != 0 && count != total_of(line, i)) return std::nullopt;
      if (count > 0) counts.insert(count);
      last = &line;
      at = i;
      break;
    }
  }
  if (last == nullptr || counts.size() < kBarCounts) return std::nullopt;
  // The total stands in the pattern, so that no other bar is read.
  return FoundCounter{FoundCounter::Counts::samples,
                      fmt::format("(?<sample>[0-9]+)/{:.0f}", *total_of(*last, at)), last->line};
}

std::size_t LineForms::longest() const {
  std::size_t most = 0;
  for (const auto& [form, all] : forms_) most = std::max(most, all.size());
  return most;
}

// The lines of any form that a metric reads.
LineForms::ReadLines LineForms::read_by(const std::string& metric) const {
  const std::size_t colon = metric.rfind(':');
  const auto dialect =
      metric_dialect(metric.substr(0, colon), parse_metric_unit(metric.substr(colon + 1)));
  ReadLines read;
  std::vector<Wait> waits;
  double before = 0;
  for (const auto& [form, line] : recent_) {
    const auto reading = dialect(line.line);
    if (!reading) continue;
    read.forms.insert(form);
    const double between = std::max(kAtOnce, line.seconds - before);  // it took no time, either
    if (read.lines++ > 0) waits.push_back({between, reading->printed_value});
    before = line.seconds;
  }
  read.off = off_the_clock(waits);
  return read;
}

// What reads the number at `index` of a form's lines, and how far it is off the clock. Empty:
// nothing does.
FoundTime LineForms::time_at(const std::string& form, std::size_t index, std::size_t lines,
                             int batch, std::map<std::string, ReadLines>& known) const {
  const std::vector<TimedNumbers>& all = forms_.at(form);
  const TimedNumbers& last = all.back();
  FoundTime time;
  time.of_a_step = speaks_of_steps(last.line);
  time.seconds = *seconds_of(last, index);
  const auto counter = time.of_a_step ? several_steps_between(all, batch) : std::nullopt;
  if (is_no_single_time(all, index, counter)) return time;
  const std::string metric = metric_of(last, index, time.of_a_step);
  if (metric.empty()) return time;
  time.reader = "metric:" + metric;
  time.lines = all.size();
  // Fewer lines than the caller asks for prove nothing by the clock.
  time.off =
      all.size() < lines ? std::nullopt : nearest_to_the_clock(all, index, counter.has_value());
  const auto at = known.find(metric);
  const ReadLines& read =
      at != known.end() ? at->second : known.emplace(metric, read_by(metric)).first->second;
  const auto each = off_the_clock(all, index, std::nullopt);
  // The time of each line is short of the clock by more than 5 %: lines are counted instead.
  if (each && each == time.off && *each > kBetween && !time.of_a_step && read.forms.size() < 2) {
    const std::string pattern = time_pattern(last, index, "file");
    if (!pattern.empty()) time.counter = "regex:" + pattern;
  }
  if (!read.forms.contains(form) || read.forms.size() < 2) return time;
  // Lines of one kind with other names in them, or "3.2 s" here and "0.00003 s" elsewhere.
  if (read.off) {
    time.off = read.off;
    time.lines = std::max(time.lines, read.lines);
  } else if (time.off) {
    // The clock agrees with this form alone, so a pattern with its words takes the metric's place.
    const std::string pattern = time.of_a_step ? time_pattern(last, index) : "";
    if (pattern.empty()) time.off = std::nullopt;
    if (!pattern.empty()) time.reader = "regex:" + pattern;
  }
  return time;
}

std::optional<FoundTime> LineForms::time(std::size_t lines, int batch) const {
  std::optional<FoundTime> found;
  std::map<std::string, ReadLines> known;  // of a metric
  const auto rank = [](const FoundTime& time) {
    return std::tuple(!time.off, time.off.value_or(0), -static_cast<double>(time.lines),
                      -time.seconds);
  };
  for (const auto& [form, all] : forms_) {
    const TimedNumbers& last = all.back();
    for (std::size_t i = 0; i < last.numbers.size(); ++i) {
      const std::string before = last.line.substr(0, last.numbers[i].begin);
      // A program that reads pages may speak of inference alone.
      if (speaks_of_steps(last.line) ? is_other_work(before) : names_preparation(before)) break;
      if (!seconds_of(last, i)) continue;
      FoundTime time = time_at(form, i, lines, batch, known);
      if (time.reader.empty() || time.lines < lines) continue;
      if (found && !(rank(time) < rank(*found))) continue;
      const LineNumber& number = last.numbers[i];
      const std::string unit = word_behind(last.line, number.end);
      time.number = last.line.substr(number.begin, number.end - number.begin) +
                    (parse_metric_unit(unit) ? " " + unit : "");
      time.line = last.line;
      found = std::move(time);
    }
  }
  return found;
}

}  // namespace ocrtune
