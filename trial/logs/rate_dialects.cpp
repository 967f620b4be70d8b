// The dialects of people's own training loops: a rate with its unit, and progress bars.
#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <string_view>

#include "base/text.h"
#include "trial/logs/log_dialects.h"
#include "trial/logs/log_text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxCharacters = 4000;  // of a line that is looked at

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_decimal_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_second(std::string_view word) {
  static constexpr std::array<std::string_view, 5> kWords = {"s", "sec", "secs", "second",
                                                             "seconds"};
  return is_one_of(word, kWords);
}

// Units of other languages that logs of OCR are written in.
constexpr std::pair<std::string_view, std::string_view> kOtherWords[] = {
    {"张/秒", "img/s"},
    {"幅/秒", "img/s"},
    {"图/秒", "img/s"},
    {"枚/秒", "img/s"},
    {"页/秒", "pages/s"},
    {"ページ/秒", "pages/s"},
    {"行/秒", "lines/s"},
    {"条/秒", "lines/s"},
    {"样本/秒", "samples/s"},
    {"步/秒", "steps/s"},
    {"秒/步", "s/step"},
    {"秒/张", "s/img"},
    {"秒/页", "s/page"},
    {"bilder/s", "img/s"},
    {"seiten/s", "pages/s"},
    {"zeilen/s", "lines/s"},
    {"currsamplespersec", " samples/s"}};  // DeepSpeed's

// Lower case, with "samples per second" and "samples_per_second" as "samples/second".
std::string with_slashes(const std::string& line) {
  std::string text = lower(std::string_view(line).substr(0, kMaxCharacters));
  for (const auto& [word, english] : kOtherWords) replace_all(text, word, english);
  for (const char* per : {" per ", "_per_", "-per-"}) {
    std::string shorter;
    std::size_t from = 0;
    for (std::size_t at = text.find(per); at != std::string::npos; at = text.find(per, from)) {
      shorter.append(text, from, at - from).append("/");
      // Each of the three is five bytes long.
      from = at + 5;
    }
    text = shorter.append(text, from);
  }
  return text;
}

struct Rate {
  MetricUnit unit;
  double value = 0;
  std::size_t at = 0;  // where its unit stands
};

// The number that belongs to a unit at [begin, end): "unit: 3" and "unit=3", else "3 unit".
std::optional<double> number_of(std::string_view text, std::size_t begin, std::size_t end) {
  std::size_t after = end;
  while (after < text.size() &&
         std::string_view(")]\"' ").find(text[after]) != std::string_view::npos) {
    ++after;
  }
  if (after < text.size() && (text[after] == ':' || text[after] == '=')) {
    const std::size_t digit = text.find_first_not_of(" =:(\"'", after);
    const auto number = digit == std::string_view::npos ? std::nullopt : number_at(text, digit);
    return number ? std::optional<double>(number->value) : std::nullopt;
  }
  const auto before = number_ending_at(text, begin);
  const auto dashed =
      text.substr(after).starts_with("- ") ? number_at(text, after + 2) : std::nullopt;
  // "29 sample/sec - 190.1", a step and a rate: what follows the dash has no unit of its own.
  if (dashed && text.find_first_not_of(" ,;|", dashed->end) == std::string_view::npos) {
    return dashed->value;
  }
  const auto behind = number_at(text, after);
  if (!before) return behind ? std::optional<double>(behind->value) : std::nullopt;
  if (!behind) return before->value;
  // "loss 2.3 img/s 412": the first number has a name of its own.
  std::size_t name_end = before->begin;
  while (name_end > 0 &&
         std::string_view(" :=").find(text[name_end - 1]) != std::string_view::npos) {
    --name_end;
  }
  std::size_t name = name_end;
  while (name > 0 && in_a_word(text[name - 1])) --name;
  static constexpr std::array<std::string_view, 9> kOthers = {
      "loss", "lr", "acc", "accuracy", "step", "iter", "epoch", "eta", "time"};
  const bool other = is_one_of(text.substr(name, name_end - name), kOthers);
  return other ? behind->value : before->value;
}

// "/work/h/pages/page1.png", "images/s/001.png", "img/s2" and "img/s_avg" hold no unit between
// these: they are paths and names. "throughput/samples/sec: 158" is a name with a number of its
// own.
bool is_of_a_path(std::string_view text, std::size_t begin, std::size_t end) {
  const char next = end < text.size() ? text[end] : ' ';
  const char more = end + 1 < text.size() ? text[end + 1] : ' ';
  const bool below = begin > 0 && std::string_view("/\\.~").find(text[begin - 1]) != text.npos;
  if (below && next != ':' && next != '=') return true;
  const bool extension = next == '.' && (is_letter(more) || is_decimal_digit(more));
  return is_decimal_digit(next) || next == '_' || next == '-' || next == '/' || extension;
}

// "48/4580 [00:02<03:05, 24.47img/s]": tqdm's mean forgets slowly, and its count is timed instead.
bool is_smoothed(std::string_view text, std::size_t unit) {
  const std::size_t bracket = text.rfind(" [", unit);
  if (bracket == std::string_view::npos) return false;
  const std::string_view inside = text.substr(bracket, unit - bracket);
  return inside.find('<') != inside.npos && inside.find(']') == inside.npos;
}

// The unit around the slash at `slash`, with its number.
std::optional<Rate> rate_at(std::string_view text, std::size_t slash) {
  std::size_t right = slash + 1;
  while (right < text.size() && text[right] == ' ') ++right;
  std::size_t right_end = right;
  while (right_end < text.size() && is_letter(text[right_end])) ++right_end;
  std::size_t left_end = slash;
  while (left_end > 0 && text[left_end - 1] == ' ') --left_end;
  std::size_t left = left_end;
  while (left > 0 && is_letter(text[left - 1])) --left;
  const std::string_view above = text.substr(left, left_end - left);
  const std::string_view below = text.substr(right, right_end - right);
  Rate rate;
  rate.at = left;
  const bool bare =
      above.empty() && left > 0 && is_decimal_digit(text[left - 1]);  // timm: "731.29/s"
  if (is_second(below) && (is_sample_noun(above) || is_step_noun(above) || bare)) {
    rate.unit.of_steps = is_step_noun(above);
  } else if (is_step_noun(below) || is_sample_noun(below)) {
    const auto unit = parse_metric_unit(std::string(above) + "/" + std::string(below));
    if (!unit || !unit->inverse) return std::nullopt;
    rate.unit = *unit;
  } else {
    return std::nullopt;
  }
  while (right_end + 1 < text.size() && text[right_end] == '/' && is_letter(text[right_end + 1])) {
    ++right_end;  // "/gpu", "/card"
    while (right_end < text.size() && is_letter(text[right_end])) ++right_end;
  }
  if (is_of_a_path(text, left, right_end) || is_smoothed(text, left)) return std::nullopt;
  const auto value = number_of(text, left, right_end);
  if (!value || *value <= 0) return std::nullopt;
  rate.value = *value;
  return rate;
}

// "compute_ips: 160 img/s": a rate that leaves the loader out.
bool is_of_a_part(std::string_view text, const Rate& rate) {
  const auto number = number_ending_at(text, rate.at);
  const std::string_view before = text.substr(0, number ? number->begin : rate.at);
  const std::size_t end = before.find_last_not_of(" :=") + 1;
  std::size_t begin = end;
  while (begin > 0 && in_a_word(before[begin - 1])) --begin;
  return starts_with(before.substr(begin, end - begin), "compute");
}

// Of samples if there is one, else of steps; of the whole step if there is one.
std::optional<Rate> find_rate(std::string_view text) {
  std::optional<Rate> found;
  bool part = false;
  for (std::size_t at = text.find('/'); at != std::string_view::npos; at = text.find('/', at + 1)) {
    const auto rate = rate_at(text, at);
    if (!rate) continue;
    // Samples before steps; within one kind a rate of the whole step before that of a part.
    const bool better = !found || (found->unit.of_steps && !rate->unit.of_steps) ||
                        (part && found->unit.of_steps == rate->unit.of_steps);
    if (!better) continue;
    found = rate;
    part = is_of_a_part(text, *rate);
    if (!found->unit.of_steps && !part) break;
  }
  return found;
}

// "time: 0.35 data_time: 0.01": seconds of a step (MMEngine, Detectron2). "ips: 40": samples.
std::optional<Rate> find_named_rate(std::string_view text) {
  const auto named = [&](std::string_view name) -> std::optional<Rate> {
    for (std::size_t at = text.find(name); at != std::string_view::npos;
         at = text.find(name, at + 1)) {
      if (at > 0 && in_a_word(text[at - 1])) continue;
      std::size_t digit = at + name.size();
      if (digit >= text.size() || in_a_word(text[digit])) continue;
      digit = text.find_first_not_of(" :=\"'(|", digit);
      const auto number = digit == std::string_view::npos ? std::nullopt : number_at(text, digit);
      if (!number || number->value <= 0) continue;
      const std::size_t next = text.find_first_not_of(' ', number->end);
      // "3.2 gb/s" is no rate of training.
      if (next != std::string_view::npos && is_letter(text[next]) &&
          text.find('/', next) < text.find(' ', next)) {
        continue;
      }
      Rate rate;
      rate.at = at;
      rate.value = number->value;
      return rate;
    }
    return std::nullopt;
  };
  // "time" alone is too common a word: only beside data_time is it a step's.
  if (text.find("data_time: ") != std::string_view::npos) {
    auto rate = named("time");
    if (rate) {
      rate->unit = MetricUnit{.of_steps = true, .inverse = true, .seconds = 1};
      return rate;
    }
  }
  for (const char* name : {"ips", "fps", "throughput"}) {
    const auto rate = named(name);
    if (rate) return rate;
  }
  return std::nullopt;
}

std::optional<double> loss_in(std::string_view text) {
  for (const char* mark : {"loss: ", "loss=", "loss "}) {
    const std::size_t at = text.find(mark);
    const auto number = at == std::string_view::npos
                            ? std::nullopt
                            : number_at(text, at + std::string_view(mark).size());
    if (number) return number->value;
  }
  return std::nullopt;
}

std::optional<LogReading> read_rate(const std::string& line) {
  const std::string text = with_slashes(line);
  auto rate = find_rate(text);
  if (!rate) rate = find_named_rate(text);
  if (!rate) return std::nullopt;
  // What stands before the rate says whose it is; what follows often tells of an evaluation.
  const std::string_view before = std::string_view(text).substr(0, rate->at);
  if (names_evaluation(before) || names_preparation(before)) return std::nullopt;
  LogReading reading;
  set_metric(reading, rate->unit, rate->value);
  reading.loss = loss_in(text);
  return reading;
}

struct Counter {
  std::size_t begin = 0, end = 0;
  double done = 0, total = 0;
};

std::size_t start_of_word(std::string_view text, std::size_t end) {
  while (end > 0 && in_a_word(text[end - 1])) --end;
  return end;
}

// The last "done/total" of a line, not of an epoch, a date or a path.
std::optional<Counter> find_counter(std::string_view text, std::size_t limit) {
  for (std::size_t slash = text.rfind('/', limit); slash != std::string_view::npos && slash > 0;
       slash = text.rfind('/', slash - 1)) {
    const auto done = number_ending_at(text, slash);
    const auto total = number_at(text, slash + 1);
    // "1/0" and "5/3" are no counters.
    if (!done || !total || total->value < 1 || done->value > total->value || done->value < 0) {
      continue;
    }
    // Two slashes: a date or a path.
    if ((done->begin > 0 && text[done->begin - 1] == '/') ||
        (total->end < text.size() && (text[total->end] == '/' || is_letter(text[total->end])))) {
      continue;
    }
    std::size_t word = done->begin;
    while (word > 0 && std::string_view(" [(:").find(text[word - 1]) != std::string_view::npos) {
      --word;
    }
    const std::size_t start = start_of_word(text, word);
    const std::string name = lower(text.substr(start, word - start));
    if (name == "epoch" || name == "ep" || name == "epochs") continue;
    return Counter{done->begin, total->end, done->value, total->value};
  }
  return std::nullopt;
}

// The unit that a bar counts in: "9.87it/s", "1.2s/it", "640.0img/s". Empty: says none.
std::string unit_of_bar(std::string_view text, std::size_t from) {
  for (std::size_t slash = text.find('/', from); slash != std::string_view::npos;
       slash = text.find('/', slash + 1)) {
    const std::size_t left = start_of_word(text, slash);
    std::size_t letter = left;
    while (letter < slash && !is_letter(text[letter])) ++letter;
    const std::string above(text.substr(letter, slash - letter));
    std::size_t end = slash + 1;
    while (end < text.size() && is_letter(text[end])) ++end;
    const std::string below(text.substr(slash + 1, end - slash - 1));
    if (is_second(below) && !above.empty()) return above;
    if (is_second(above) || above == "ms") return below;
  }
  return "";
}

// "50it [00:05, 9.87it/s]": a bar without a total.
std::optional<Counter> endless_counter(std::string_view text, std::size_t bracket) {
  std::size_t begin = bracket;
  while (begin > 0 && is_letter(text[begin - 1])) --begin;
  const auto done = begin < bracket ? number_ending_at(text, begin) : std::nullopt;
  if (!done) return std::nullopt;
  return Counter{done->begin, bracket, done->value, 0};
}

bool looks_like_a_bar(std::string_view text) {
  for (const char* mark : {"%", "it/s", "s/it", "/step", "eta", "\xe2\x94\x81", "[=", "step [",
                           "iter [", "batch [", "step ", "iter ", "batch "}) {
    if (text.find(mark) != std::string_view::npos) return true;
  }
  return false;
}

// "epoch 3:" and "epoch 4:", "loss 2.1" and "loss 1e-05" and "loss nan" name one series of bars.
std::string words_of(std::string_view title) {
  std::string words;
  for (std::size_t at = 0; at < title.size(); ++at) {
    if (!in_a_word(title[at])) continue;
    const std::size_t begin = at;
    while (at < title.size() && in_a_word(title[at])) ++at;
    const std::string_view word = title.substr(begin, at - begin);
    const bool number = std::any_of(word.begin(), word.end(), is_decimal_digit);
    if (!number && word.size() > 1 && word != "nan" && word != "inf") words.append(word) += ' ';
  }
  return words;
}

// Rich puts the count behind its bar, and columns of other counts may follow it: "━━━ 35/400
// 0:00:04 early_stopping: 0/10".
std::optional<Counter> counter_behind_bar(std::string_view text) {
  const std::size_t bar = text.rfind("\xe2\x94\x81");
  if (bar == std::string_view::npos) return std::nullopt;
  for (std::size_t at = text.find('/', bar); at != std::string_view::npos;
       at = text.find('/', at + 1)) {
    const auto counter = find_counter(text, at);
    if (counter && counter->begin > bar) return counter;
  }
  return std::nullopt;
}

std::optional<LogReading> read_progress(const std::string& line) {
  const std::string text = lower(std::string_view(line).substr(0, kMaxCharacters));
  const std::size_t arrow = text.find('<');
  std::size_t bracket = text.find(" [");
  while (bracket != std::string::npos && bracket + 2 < text.size() &&
         !is_decimal_digit(text[bracket + 2]) && text[bracket + 2] != '?') {
    bracket = text.find(" [", bracket + 1);  // Keras's "[====>" is no time
  }
  const bool tqdm = bracket != std::string::npos && arrow != std::string::npos && arrow > bracket;
  std::optional<Counter> counter;
  if (tqdm) {
    counter = find_counter(text, bracket);
    if (!counter) counter = find_counter(text, std::string::npos);  // fastprogress's "[4/60 00:01<"
  } else if (looks_like_a_bar(text)) {
    if (bracket != std::string::npos) counter = endless_counter(text, bracket);
    if (!counter) counter = counter_behind_bar(text);
    if (!counter) counter = find_counter(text, std::string::npos);
  }
  if (!counter) return std::nullopt;
  std::string title = text.substr(0, std::min(counter->begin, text.find('%')));
  // Blanks and digits at the end of the title are the bar's own.
  title.resize(title.find_last_not_of("0123456789. ") + 1);
  if (names_validation(title) || names_preparation(title)) return std::nullopt;
  const std::string unit = unit_of_bar(text, counter->end);
  // A bar of a download.
  if (unit == "b" || (unit.size() == 2 && unit[1] == 'b')) return std::nullopt;  // bytes
  LogReading reading;
  // An unknown unit, or none, counts steps.
  (is_sample_noun(unit) ? reading.sample_count : reading.step_count) = counter->done;
  // The title's words and the total: what tells bars of training and validation apart.
  reading.counter = words_of(title) + "/" + std::to_string(counter->total);
  const std::vector<std::string> words = split(words_of(title), ' ');
  reading.counter_of_things = std::any_of(words.begin(), words.end(), is_sample_noun);
  reading.counter_ended = counter->total > 0 && counter->done >= counter->total;
  reading.loss = loss_in(text);
  return reading;
}

}  // namespace

LogDialect rate_dialect() { return read_rate; }
LogDialect step_rate_dialect() {
  return [](const std::string& line) {
    auto reading = read_rate(line);
    return reading && reading->steps_per_second ? reading : std::nullopt;
  };
}
LogDialect progress_dialect() { return read_progress; }

}  // namespace ocrtune
