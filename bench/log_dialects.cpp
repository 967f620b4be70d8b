#include "bench/log_dialects.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <memory>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace ocrtune {
namespace {

// The number at the start of `text`, blanks skipped.
std::optional<double> leading_number(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<double> number_after(std::string_view line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return leading_number(line.substr(at + mark.size()));
}

// The number that ends just before `end`, blanks skipped: "12.5 " of "12.5 img/s".
std::optional<double> number_before(std::string_view line, std::size_t end) {
  while (end > 0 && line[end - 1] == ' ') --end;
  std::size_t begin = end;
  while (begin > 0 && (std::isdigit(static_cast<unsigned char>(line[begin - 1])) != 0 ||
                       line[begin - 1] == '.')) {
    --begin;
  }
  if (begin == end) return std::nullopt;
  return leading_number(line.substr(begin, end - begin));
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
    if (interval_ < covered) interval_ = covered;
    if (covered < interval_ || std::fmod(*step, interval_) != 0) return std::nullopt;
    // Averages are over the printing interval: right here, where the line covers all of it.
    auto samples = number_after(line, "avg_samples: ");
    if (samples) {
      samples = *samples * interval_;
    } else {
      samples = number_after(line, " samples: ");
    }
    reading.steps = interval_;
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
};

std::optional<LogReading> read_rate(const std::string& line) {
  static constexpr std::array<std::string_view, 10> kNouns = {
      "samples",   "images", "imgs",  "img",    "examples",
      "sequences", "lines",  "items", "sample", "image"};
  const std::string text = lower(line);
  for (std::string_view noun : kNouns) {
    for (std::size_t at = text.find(noun); at != std::string::npos; at = text.find(noun, at + 1)) {
      std::size_t end = at + noun.size();
      while (end < text.size() && text[end] == ' ') ++end;
      if (end >= text.size() || text[end] != '/') continue;
      ++end;
      while (end < text.size() && text[end] == ' ') ++end;
      if (end >= text.size() || text[end] != 's') continue;
      while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end])) != 0) ++end;
      LogReading reading;
      reading.samples_per_second = positive(number_before(text, at));
      if (!reading.samples_per_second && end < text.size() &&
          (text[end] == ':' || text[end] == '=')) {
        reading.samples_per_second =
            positive(leading_number(std::string_view(text).substr(end + 1)));
      }
      if (!reading.samples_per_second) continue;
      reading.loss = number_after(text, "loss: ");
      return reading;
    }
  }
  return std::nullopt;
}

bool names_evaluation(std::string_view title) {
  static constexpr std::array<std::string_view, 5> kWords = {"eval", "valid", "test", "predict",
                                                             "sanity"};
  const std::string text = lower(title);
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

// tqdm: "<title>  50%|###   | 50/100 [00:05<00:05,  9.87it/s, loss=3.1]".
std::optional<LogReading> read_progress(const std::string& line) {
  const std::size_t bracket = line.find(" [");
  if (bracket == std::string::npos || line.find('<', bracket) == std::string::npos) {
    return std::nullopt;
  }
  const std::size_t slash = line.rfind('/', bracket);
  if (slash == std::string::npos) return std::nullopt;
  const auto total = positive(leading_number(std::string_view(line).substr(slash + 1)));
  const auto done = number_before(line, slash);
  if (!total || !done || *done > *total) return std::nullopt;
  const std::string title = line.substr(0, std::min(line.find('%'), line.find(':')));
  if (names_evaluation(title)) return std::nullopt;
  LogReading reading;
  reading.step_count = done;
  reading.counter = title.substr(0, title.find_last_not_of("0123456789 ") + 1);
  reading.loss = number_after(line, "loss=");
  return reading;
}

// Burn prints its validation in the same words as its training: the lines that follow an epoch's
// last one, and still name that epoch, are validation.
class Burn {
 public:
  std::optional<LogReading> read(const std::string& line) {
    const std::string mark = "items_processed: ";
    const std::size_t at = line.rfind(mark);  // newer lines give the epoch's progress first
    if (at == std::string::npos || line.find("alid") != std::string::npos) return std::nullopt;
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

bool in_a_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::optional<LogReading> read_metric(const std::string& line, const std::string& name,
                                      const std::optional<MetricUnit>& given) {
  for (std::size_t at = line.find(name); at != std::string::npos; at = line.find(name, at + 1)) {
    if (at > 0 && in_a_word(line[at - 1])) continue;
    const std::size_t end = at + name.size();
    const std::size_t digit = line.find_first_not_of(" \t:=\"'(", end);
    if (digit == std::string::npos || (digit == end && in_a_word(line[end]))) continue;
    double value = 0;
    const auto [rest, code] =
        std::from_chars(line.data() + digit, line.data() + line.size(), value);
    if (code != std::errc() || !std::isfinite(value) || value <= 0) continue;
    std::string_view tail(rest, static_cast<std::size_t>(line.data() + line.size() - rest));
    while (!tail.empty() && tail.front() == ' ') tail.remove_prefix(1);
    std::size_t size = 0;
    while (size < tail.size() && (in_a_word(tail[size]) || tail[size] == '/')) ++size;
    LogReading reading;
    const auto printed = parse_metric_unit(tail.substr(0, size));
    set_metric(reading, given ? *given : printed.value_or(MetricUnit()), value);
    return reading;
  }
  return std::nullopt;
}

std::optional<double> json_number(const nlohmann::json& object, const std::string& key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

}  // namespace

LogDialect paddleocr_dialect(std::optional<int> print_interval) {
  auto state = std::make_shared<PaddleOcr>(print_interval);
  return [state](const std::string& line) { return state->read(line); };
}

LogDialect paddleocr_infer_dialect() {
  return [images = 0.0](const std::string& line) mutable -> std::optional<LogReading> {
    if (line.find("Predict time of ") == std::string::npos) return std::nullopt;
    LogReading reading;
    reading.sample_count = ++images;  // whichever process printed it
    return reading;
  };
}

LogDialect rate_dialect() { return read_rate; }
LogDialect progress_dialect() { return read_progress; }

LogDialect burn_dialect() {
  auto state = std::make_shared<Burn>();
  return [state](const std::string& line) { return state->read(line); };
}

LogDialect metric_dialect(const std::string& name, const std::optional<MetricUnit>& unit) {
  return [name, unit](const std::string& line) { return read_metric(line, name, unit); };
}

LogDialect json_dialect(const std::string& key, const MetricUnit& unit) {
  return [key, unit](const std::string& line) -> std::optional<LogReading> {
    const std::size_t brace = line.find('{');  // a logger's prefix may stand before it
    if (brace == std::string::npos) return std::nullopt;
    const auto object = nlohmann::json::parse(line.substr(brace), nullptr, false);
    if (!object.is_object()) return std::nullopt;
    LogReading reading;
    const auto value = positive(json_number(object, key));
    if (value) set_metric(reading, unit, *value);
    reading.samples = positive(json_number(object, "samples"));
    reading.seconds = positive(json_number(object, "seconds"));
    reading.loss = json_number(object, "loss");
    if (!value && !(reading.samples && reading.seconds)) return std::nullopt;
    return reading;
  };
}

}  // namespace ocrtune
