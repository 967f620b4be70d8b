// Units in which programs say how fast they are: samples/s, it/s, s/step, ms/sample ...
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trial/logs/log_reading.h"

namespace ocrtune {

struct MetricUnit {
  bool of_steps = false;  // it/s, s/step: else of samples
  bool inverse = false;   // seconds for each one, not ones in each second
  double seconds = 1;     // that the time word stands for: 0.001 for ms, 60 for min
};

// "img/s", "samples/sec", "it/s", "s/it", "ms/step", "s", "ms", ... A noun that is no step word
// counts samples; a bare time is of a step. Empty: no such unit.
std::optional<MetricUnit> parse_metric_unit(std::string_view text);
// As above; usage, with examples, for what is no unit.
Result<MetricUnit> metric_unit(const std::string& text);

void set_metric(LogReading& reading, const MetricUnit& unit, double value);  // value > 0

}  // namespace ocrtune
