// A thread of its own reads each second, so that a slow page delays no request. One more reading is
// taken at the end, so that growth covers the whole measurement.
#include "trial/workloads/service/server_metrics.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/stats.h"
#include "base/text.h"
#include "trial/workloads/service/http_target.h"
#include "trial/workloads/service/server_address.h"

namespace ocrtune {
namespace {

constexpr double kReadSeconds = 1, kTurn = 0.02;
constexpr double kReadTimeout = 2;
constexpr std::size_t kMostTold = 12;

// What the readings say of one metric; empty: nothing moved, or it is not there.
std::string words_of(const std::vector<MetricsReading>& readings, const std::string& name,
                     bool told_always) {
  const MetricsReading& first = readings.front();
  const MetricsReading& last = readings.back();
  const auto value = [](const MetricsReading& reading, const std::string& key) {
    const auto found = reading.values.find(key);
    return found == reading.values.end() ? std::nan("") : found->second;
  };
  const auto kind = last.kinds.find(name);
  // A name without a # TYPE line is told as a gauge.
  const std::string is = kind == last.kinds.end() ? "gauge" : kind->second;
  if (is == "histogram" || is == "summary") {
    const double count = value(last, name + "_count") - value(first, name + "_count");
    const double sum = value(last, name + "_sum") - value(first, name + "_sum");
    return count > 0 ? fmt::format("{} {:.3g} on average", name, sum / count) : "";
  }
  if (std::isnan(value(last, name)) || std::isnan(value(first, name))) return "";
  if (is == "counter") {
    const double grown = value(last, name) - value(first, name);
    // A metric that was asked for by name is told even if it stood still.
    if (grown <= 0 && !told_always) return "";
    return fmt::format("{} {:.3g}/s", name, std::max(0.0, grown) / (last.seconds - first.seconds));
  }
  std::vector<double> values;
  for (const MetricsReading& reading : readings) {
    if (const double now = value(reading, name); !std::isnan(now)) values.push_back(now);
  }
  const auto [least, most] = std::ranges::minmax(values);
  if (most == least && !told_always) return "";
  return fmt::format("{} {:.3g} (at most {:.3g})", name, mean(values), most);
}

}  // namespace

MetricsReading parse_metrics(std::string_view text) {
  MetricsReading reading;
  for (const std::string& line : split(std::string(text), '\n')) {
    const std::string one(trim(line));
    if (starts_with(one, "#")) {
      const auto parts = words(one);
      if (parts.size() == 4 && parts[1] == "TYPE") reading.kinds[parts[2]] = parts[3];
      continue;
    }
    // Labels may hold blanks and braces, in quotes: the value stands behind the last brace.
    const std::size_t labels = one.find('{');
    const std::size_t closed = one.rfind('}');
    const bool labelled = labels != std::string::npos && closed != std::string::npos;
    const std::size_t blank = one.find_first_of(" \t");
    if (!labelled && blank == std::string::npos) continue;
    const std::string name = one.substr(0, labelled ? labels : blank);
    const auto rest = words(one.substr(labelled ? closed + 1 : blank));
    const auto value = parse_number(rest.empty() ? "" : rest[0]);
    if (name.empty() || !value || !std::isfinite(*value)) continue;
    reading.values[name] += *value;
  }
  return reading;
}

std::string metrics_text(const std::vector<MetricsReading>& readings,
                         const std::vector<std::string>& names) {
  if (readings.size() < 2) return "";
  std::vector<std::string> asked = names;
  if (names.empty()) {
    for (const auto& [name, kind] : readings.back().kinds) asked.push_back(name);
  }
  std::vector<std::string> told;
  for (const std::string& name : asked) {
    std::string words = words_of(readings, name, !names.empty());
    if (!words.empty() && told.size() < kMostTold) told.push_back(std::move(words));
  }
  return join(told, ", ");
}

MetricsPlace metrics_place(const std::string& text, const std::string& server_url) {
  MetricsPlace place;
  const std::size_t hash = text.find('#');
  place.url = text.substr(0, hash);
  if (hash != std::string::npos) {
    for (const std::string& name : split(text.substr(hash + 1), ',')) {
      if (!trim(name).empty()) place.names.emplace_back(trim(name));
    }
  }
  place.url = at_server(place.url, server_url);
  return place;
}

MetricsWatch::MetricsWatch(MetricsPlace place) : place_(std::move(place)) {
  if (!place_.url.empty()) thread_ = std::thread([this] { run(); });
}

MetricsWatch::~MetricsWatch() { stop(); }

void MetricsWatch::run() {
  double next = 0;
  while (true) {
    const bool last = stopping_;
    const double now = steady_clock().now_seconds();
    if (now >= next || last) {
      const auto text = get_text(place_.url, kReadTimeout);
      if (text) {
        readings_.push_back(parse_metrics(*text));
        readings_.back().seconds = steady_clock().now_seconds();
      } else {
        failure_ = text.error().what;
      }
      next = now + kReadSeconds;
    }
    if (last) return;
    steady_clock().sleep_seconds(kTurn);
  }
}

std::string MetricsWatch::stop() {
  if (!thread_.joinable()) return "";
  stopping_ = true;
  thread_.join();
  if (readings_.size() < 2 && !failure_.empty()) return "its metrics cannot be read: " + failure_;
  std::string told = metrics_text(readings_, place_.names);
  if (!told.empty() || readings_.size() < 2) return told;
  return place_.url + " has none of the metrics asked for";
}

}  // namespace ocrtune
