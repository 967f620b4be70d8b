#include "trial/logs/metric_unit.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

std::optional<double> seconds_of(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, double>, 11> kWords = {{
      {"s", 1},
      {"sec", 1},
      {"secs", 1},
      {"second", 1},
      {"seconds", 1},
      {"ms", 0.001},
      {"msec", 0.001},
      {"us", 1e-6},
      {"min", 60},
      {"minute", 60},
      {"h", 3600},
  }};
  for (const auto& [name, seconds] : kWords) {
    if (word == name) return seconds;
  }
  return std::nullopt;
}

bool is_step_word(std::string_view word) {
  static constexpr std::array<std::string_view, 12> kWords = {
      "it",    "its",     "iter",   "iters", "iteration", "iterations",
      "batch", "batches", "update", "step",  "steps",     "updates"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

bool is_noun(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

}  // namespace

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
    return MetricUnit{.of_steps = true, .inverse = true, .seconds = *seconds};
  }
  const std::string above = plain.substr(0, slash);
  const std::string below = plain.substr(slash + 1);
  auto seconds = seconds_of(below);
  std::string_view counted = above;
  if (!seconds) {
    seconds = seconds_of(above);
    unit.inverse = true;
    counted = below;
  }
  if (!seconds || !is_noun(counted)) return std::nullopt;
  unit.seconds = *seconds;
  unit.of_steps = is_step_word(counted);
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
}

}  // namespace ocrtune
