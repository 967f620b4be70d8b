// Each dialect is a function of one line with little or no state; what numbers mean for the job is
// the matter of log_reader.cpp. Rates and bars of people's own loops stand in rate_dialects.cpp,
// patterns in regex_dialect.cpp.
#include "trial/logs/log_dialects.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "trial/logs/log_text.h"

namespace ocrtune {
namespace {

std::optional<double> seconds_of(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, double>, 19> kWords = {{
      {"s", 1},
      {"sec", 1},
      {"secs", 1},
      {"second", 1},
      {"seconds", 1},
      {"ms", 0.001},
      {"msec", 0.001},
      {"millisecond", 0.001},
      {"milliseconds", 0.001},
      {"us", 1e-6},
      // The micro sign in UTF-8.
      {"\xc2\xb5s", 1e-6},
      {"min", 60},
      {"mins", 60},
      {"minute", 60},
      {"minutes", 60},
      {"h", 3600},
      {"hr", 3600},
      {"hour", 3600},
      {"hours", 3600},
  }};
  for (const auto& [name, seconds] : kWords) {
    if (word == name) return seconds;
  }
  return std::nullopt;
}

bool is_noun(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

std::optional<double> leading_number(std::string_view text) {
  const auto found = number_at(text, 0);
  return found ? std::optional<double>(found->value) : std::nullopt;
}

std::optional<double> number_after(std::string_view line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return leading_number(line.substr(at + mark.size()));
}

std::optional<double> positive(std::optional<double> number) {
  return number && *number > 0 ? number : std::nullopt;
}

// Keeps track of the steps between lines, to tell whole intervals from an epoch's tail.
class PaddleOcr {
 public:
  explicit PaddleOcr(std::optional<int> interval) : interval_(interval.value_or(0)) {}

  std::optional<LogReading> read(const std::string& line) {
    const auto ips = positive(number_after(line, ", ips: "));
    if (!ips || line.find("epoch: [") == std::string::npos) return std::nullopt;
    auto step = number_after(line, "global_step: ");
    if (!step) step = number_after(line, "iter: ");
    if (!step) return std::nullopt;
    // Steps since the line before: a tail of an epoch covers fewer than the interval.
    const double covered = *step - last_step_;
    const bool first = last_step_ < 0;
    last_step_ = *step;
    LogReading reading;
    reading.samples_per_second = ips;
    const auto batch_cost = positive(number_after(line, "batch_cost: "));
    const auto reader_cost = number_after(line, "reader_cost: ");
    if (batch_cost && reader_cost) reading.data_share = *reader_cost / *batch_cost;
    reading.loss = number_after(line, ", loss: ");
    if (covered == 0) return std::nullopt;     // printed twice, by two loggers
    if (first || covered < 0) return reading;  // the warm-up, or a run that began again
    // An interval that was not told is the longest one seen.
    if (interval_ < covered) interval_ = covered;
    const bool whole = covered == interval_ && std::fmod(*step, interval_) == 0;
    // Epochs shorter than the interval have nothing but tails.
    tails_ = whole ? 0 : tails_ + 1;
    // Four tails in a row mean that no whole line will come.
    if (!whole && tails_ < kMaxTails) {
      reading.partial = true;
      return reading;
    }
    // Averages are sums over the printing interval, also where the line covers less of it.
    auto samples = number_after(line, "avg_samples: ");
    if (samples) {
      samples = *samples * interval_;
    } else {
      samples = number_after(line, " samples: ");
    }
    reading.steps = covered;
    if (samples && *samples > 0) {
      reading.samples = samples;
      reading.seconds = *samples / *ips;
    } else if (batch_cost) {
      reading.seconds = *batch_cost * interval_;
      reading.samples = *ips * *reading.seconds;
    }
    return reading;
  }

 private:
  double interval_;
  double last_step_ = -1;
  int tails_ = 0;  // one after the other
  static constexpr int kMaxTails = 4;
};

// Burn prints its validation in the same words as its training: the lines that follow an epoch's
// last one, and still name that epoch, are validation.
class Burn {
 public:
  std::optional<LogReading> read(const std::string& line) {
    const std::string mark = "items_processed: ";
    const std::size_t at = line.rfind(mark);  // newer lines give the epoch's progress first
    if (at == std::string::npos || names_evaluation(line.substr(0, at))) return std::nullopt;
    const auto done = leading_number(std::string_view(line).substr(at + mark.size()));
    if (!done) return std::nullopt;
    const auto total = number_after(std::string_view(line).substr(at), "items_total: ");
    const auto epoch = number_after(line, " epoch: ");
    if (epoch && epoch == finished_) return std::nullopt;
    if (total && *done >= *total) finished_ = epoch;
    LogReading reading;
    reading.sample_count = done;
    return reading;
  }

 private:
  std::optional<double> finished_;  // the epoch whose training is over
};

// Between a name and its number: "name: 3", "name=3", "'name': 3", "name (img/s): 3", "| name | 3".
// Gives the number's place and the unit in brackets; none: something else follows the name.
struct NameTail {
  std::size_t at = 0;
  std::optional<MetricUnit> unit;
};

std::optional<NameTail> after_name(std::string_view line, std::size_t end) {
  NameTail tail;
  for (tail.at = end; tail.at < line.size(); ++tail.at) {
    const char c = line[tail.at];
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '+') {
      // A digit right behind the name belongs to it.
      if (tail.at == end) return std::nullopt;  // name2: another name
      return tail;
    }
    if (std::string_view(" \t:=\"'|>~").find(c) != std::string_view::npos) continue;
    if (c != '(' && c != '[') return std::nullopt;
    const std::size_t close = line.find_first_of(")]", tail.at);
    if (close == std::string_view::npos) return std::nullopt;
    const auto unit = parse_metric_unit(line.substr(tail.at + 1, close - tail.at - 1));
    // A value in brackets, often the mean, is passed over for the number behind it.
    if (!unit) continue;  // "(12.5)"
    tail.unit = unit;
    tail.at = close;
  }
  return std::nullopt;
}

std::optional<LogReading> read_metric(const std::string& text, const std::string& name,
                                      const std::optional<MetricUnit>& given) {
  constexpr std::size_t kMaxCharacters = 4000;
  const std::string_view line = std::string_view(text).substr(0, kMaxCharacters);
  const std::string low = lower(line);
  const auto as_unit = parse_metric_unit(name);  // "12.5 pages/s"
  for (std::size_t at = low.find(name); at != std::string::npos; at = low.find(name, at + 1)) {
    if (at > 0 && in_a_word(low[at - 1])) continue;
    const auto tail = after_name(low, at + name.size());
    auto number = tail ? number_at(line, tail->at) : std::nullopt;
    // The name is a unit, so the number may stand before it.
    if (!number && as_unit) number = number_ending_at(line, at);
    if (!number || number->value <= 0) continue;
    std::string_view rest = line.substr(number->end);
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    std::size_t size = 0;
    const auto of_unit = [](char c) {
      return in_a_word(c) || c == '/' || static_cast<unsigned char>(c) >= 0x80;
    };
    while (size < rest.size() && of_unit(rest[size])) ++size;
    const auto printed = tail && tail->unit ? tail->unit : parse_metric_unit(rest.substr(0, size));
    LogReading reading;
    // The user's unit wins over what the line prints, and "sec/kimg" is a name and a unit.
    const MetricUnit own = as_unit.value_or(MetricUnit());
    set_metric(reading, given ? *given : printed.value_or(own), number->value);
    return reading;
  }
  return std::nullopt;
}

// A number, or text that begins with one. `key` may be a path, "metrics.throughput", or stand
// deeper. Null: there is none.
const nlohmann::json* json_field(const nlohmann::json& object, const std::string& key,
                                 int depth = 0) {
  if (!object.is_object() || depth > 4) return nullptr;
  const auto found = object.find(key);
  if (found != object.end() && (found->is_number() || found->is_string())) return &*found;
  const std::size_t dot = key.find('.');
  if (dot != std::string::npos && object.contains(key.substr(0, dot))) {
    return json_field(object[key.substr(0, dot)], key.substr(dot + 1), depth + 1);
  }
  for (const auto& [name, value] : object.items()) {
    // {"train": {...}, "eval": {...}}: the speed of an evaluation is none.
    if (names_evaluation(name)) continue;
    if (const auto* deeper = json_field(value, key, depth + 1)) return deeper;
  }
  return nullptr;
}

std::optional<double> json_number(const nlohmann::json& object, const std::string& key) {
  const auto* field = json_field(object, key);
  if (field == nullptr) return std::nullopt;
  return field->is_number() ? field->get<double>()
                            : leading_number(field->get_ref<const std::string&>());
}

// "img/min" of "40 img/min".
std::optional<MetricUnit> json_unit(const nlohmann::json& object, const std::string& key) {
  const auto* field = json_field(object, key);
  if (field == nullptr || !field->is_string()) return std::nullopt;
  const std::string_view text = field->get_ref<const std::string&>();
  const auto number = number_at(text, 0);
  return number ? parse_metric_unit(trim(text.substr(number->end))) : std::nullopt;
}

// An object in a line, behind a logger's prefix; also as Python prints a dict.
std::optional<nlohmann::json> json_in(const std::string& line) {
  const std::size_t brace = line.find('{');
  const std::size_t end = line.rfind('}');
  if (brace == std::string::npos || end == std::string::npos || end < brace) return std::nullopt;
  std::string text = line.substr(brace, end - brace + 1);
  auto object = nlohmann::json::parse(text, nullptr, false);
  if (object.is_object()) return object;
  // Python's repr() quotes with apostrophes. Text that holds one fails to parse and is passed over.
  std::replace(text.begin(), text.end(), '\'', '"');
  object = nlohmann::json::parse(text, nullptr, false);
  return object.is_object() ? std::optional<nlohmann::json>(std::move(object)) : std::nullopt;
}

// Names under which programs log their speed where the user has named none.
struct SpeedKey {
  const char* name;
  const char* unit;
};

constexpr std::array<SpeedKey, 16> kSpeedKeys = {{
    {"samples_per_second", "samples/s"},
    {"samples_per_sec", "samples/s"},
    {"images_per_second", "img/s"},
    {"images_per_sec", "img/s"},
    {"imgs_per_sec", "img/s"},
    {"img_per_sec", "img/s"},
    {"examples_per_second", "samples/s"},
    {"train_samples_per_second", "samples/s"},
    {"throughput", "samples/s"},
    {"ips", "samples/s"},
    {"steps_per_second", "it/s"},
    {"steps_per_sec", "it/s"},
    {"it_per_sec", "it/s"},
    {"seconds_per_step", "s/it"},
    {"step_time_ms", "ms/it"},
    {"step_time", "s/it"},
}};

void read_speed(const nlohmann::json& object, const std::string& key,
                const std::optional<MetricUnit>& unit, LogReading& reading) {
  if (!key.empty()) {
    const auto value = positive(json_number(object, key));
    const auto printed = json_unit(object, key);
    if (value) set_metric(reading, unit ? *unit : printed.value_or(MetricUnit()), *value);
    return;
  }
  // In the order of the table: samples before steps, rates before times.
  for (const SpeedKey& one : kSpeedKeys) {
    const auto value = positive(json_number(object, one.name));
    if (!value) continue;
    const auto printed = json_unit(object, one.name);
    const auto usual = printed ? printed : parse_metric_unit(one.unit);
    set_metric(reading, unit ? *unit : usual.value_or(MetricUnit()), *value);
    return;
  }
}

}  // namespace

LogDialect paddleocr_dialect(std::optional<int> print_interval) {
  return [reader = PaddleOcr(print_interval)](const std::string& line) mutable {
    return reader.read(line);
  };
}

LogDialect paddleocr_infer_dialect() {
  return [images = 0.0](const std::string& line) mutable -> std::optional<LogReading> {
    const bool of_an_image = line.find("Predict time of ") != std::string::npos ||
                             line.find("paddleocr INFO: Processed item ") != std::string::npos;
    if (!of_an_image) return std::nullopt;
    LogReading reading;
    reading.sample_count = ++images;  // whichever process printed it
    return reading;
  };
}

LogDialect runs_dialect(double samples) {
  return [samples, done = 0.0](const std::string& line) mutable -> std::optional<LogReading> {
    if (line.find(kRunEnded) == std::string::npos) return std::nullopt;
    LogReading reading;
    reading.sample_count = done += samples;
    return reading;
  };
}

LogDialect burn_dialect() {
  return [reader = Burn()](const std::string& line) mutable { return reader.read(line); };
}

LogDialect metric_dialect(const std::string& name, const std::optional<MetricUnit>& unit) {
  return
      [name = lower(name), unit](const std::string& line) { return read_metric(line, name, unit); };
}

LogDialect json_dialect(const std::string& key, const std::optional<MetricUnit>& unit) {
  return [key, unit](const std::string& line) -> std::optional<LogReading> {
    const auto object = json_in(line);
    if (!object) return std::nullopt;
    LogReading reading;
    read_speed(*object, key, unit, reading);
    const bool said = reading.samples_per_second || reading.steps_per_second;
    const auto samples = positive(json_number(*object, "samples"));
    const auto seconds = positive(json_number(*object, "seconds"));
    // Beside a speed they are totals as often as those of a step.
    if (key.empty() && !said && samples && seconds) {
      reading.samples = samples;
      reading.seconds = seconds;
    }
    reading.loss = json_number(*object, "loss");
    const bool speaks = reading.samples_per_second || reading.steps_per_second ||
                        (reading.samples && reading.seconds);
    return speaks ? std::optional<LogReading>(std::move(reading)) : std::nullopt;
  };
}

std::optional<MetricUnit> parse_metric_unit(std::string_view text) {
  std::string plain;
  for (const char c : lower(text)) {
    if (c != ' ') plain += c;
  }
  const std::size_t slash = plain.find('/');
  MetricUnit unit;
  if (slash == std::string::npos) {
    const auto seconds = seconds_of(plain);
    if (!seconds) return std::nullopt;
    // A bare time is the time of a step.
    return MetricUnit{.of_steps = true, .inverse = true, .seconds = *seconds};
  }
  const std::string above = plain.substr(0, slash);
  const std::string below = plain.substr(slash + 1);
  auto seconds = seconds_of(below);
  std::string_view counted = above;
  // No time below the slash: "s/it" has it above.
  if (!seconds) {
    seconds = seconds_of(above);
    unit.inverse = true;
    counted = below;
  }
  if (!seconds || !is_noun(counted)) return std::nullopt;
  const bool thousands = counted.front() == 'k' && is_sample_noun(counted.substr(1));
  unit.seconds = thousands ? *seconds / 1000 : *seconds;
  unit.of_steps = is_step_noun(counted);
  return unit;
}

Result<MetricUnit> metric_unit(const std::string& text) {
  const auto unit = parse_metric_unit(text);
  if (unit) return *unit;
  return Error{ErrorKind::usage,
               fmt::format("'{}' is not a unit of speed, such as samples/s, img/s, it/s, s/step or "
                           "ms/step",
                           text)};
}

void set_metric(LogReading& reading, const MetricUnit& unit, double value) {
  const double rate = unit.inverse ? 1 / (value * unit.seconds) : value / unit.seconds;
  (unit.of_steps ? reading.steps_per_second : reading.samples_per_second) = rate;
  reading.printed_value = unit.inverse ? value * unit.seconds : value;
  reading.printed_seconds = unit.inverse;
}

}  // namespace ocrtune
