// The dialects of training logs: each finds the numbers of one kind of line.
//
// Sources: PaddleOCR tools/program.py from 2.0 to 3.x and its issue threads; tqdm (Lightning,
// Hugging Face); torchvision's reference scripts, timm, MMEngine, Keras; burn-train's plain
// renderer.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ocrtune {

// What one line says; everything that it does not say is empty.
struct LogReading {
  std::optional<double> samples_per_second;
  std::optional<double> samples;  // in the interval that the line closes
  std::optional<double> seconds;  // of that interval
  std::optional<double> steps;    // in that interval
  std::optional<double> steps_per_second;
  std::optional<double> step_count;    // steps done so far; the line's arrival is the clock
  std::optional<double> sample_count;  // samples done so far; likewise
  std::optional<double> data_share;    // part of the time spent waiting for data
  std::optional<double> loss;
  bool partial = false;        // a known number, but of less than a printing interval: not a sample
  std::string counter;         // which counter the counts belong to, where a log may have several
  bool counter_ended = false;  // it has come to its total
  bool counter_of_things = false;  // its title names what it counts: pages, images
  double printed_value = 0;        // of a rate: the number as it stands in the line; 0: not known
  bool printed_seconds = false;    // it is a time, for each step or sample
};

// A unit in which programs say how fast they are: samples/s, it/s, s/step, ms/sample ...
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

using LogDialect = std::function<std::optional<LogReading>(const std::string& line)>;

// The traps of PaddleOCR's lines: ips is of rank 0 alone; averages divide by the printing interval
// even where a line at the end of an epoch covers fewer steps, so that only ips is right there, and
// such lines and the ones after them are left out; batch_cost holds reader_cost; the number of
// samples changes from step to step under MultiScaleSampler.
LogDialect paddleocr_dialect(std::optional<int> print_interval);
LogDialect
paddleocr_infer_dialect();  // "[..] INFO: 3  Predict time of a.png: 0.122s", one an image
// One line of kRunEnded for each run of a command that ends by itself, of so many samples.
inline constexpr const char* kRunEnded = "ocrtune: the command has ended once more";
LogDialect runs_dialect(double samples);
// A rate beside its unit, of samples or else of steps: "312.5 images/s", "samples/sec: 81.2",
// "img/s: 40 (39)", "731.3/s", "98ms/step". Lines of an evaluation are left out.
LogDialect rate_dialect();
LogDialect step_rate_dialect();  // of steps alone
// "Epoch 0:  50%|#####     | 50/100 [00:05<00:05, 9.87it/s]"; Lightning's and Keras's bars too.
LogDialect progress_dialect();
LogDialect burn_dialect();  // "... items_processed: 320, items_total: 60000 ..."
// {"samples_per_second": 81.2, "loss": 3.1}; `unit`: of the key's number. No key: the usual names.
LogDialect json_dialect(const std::string& key, const std::optional<MetricUnit>& unit = {});
// The number that follows `name` in a line, "throughput: 81.2", "step_time=12.5ms", or stands
// before it where it is a unit, "81.2 pages/s". A unit behind the number is believed, unless `unit`
// says which it is; neither: samples/s.
LogDialect metric_dialect(const std::string& name, const std::optional<MetricUnit>& unit);
// PATTERN is RE2's with named groups, (?<name>...) or (?P<name>...): samples_per_second,
// steps_per_second, seconds_per_step, milliseconds_per_step, samples, seconds, step, sample, loss,
// file: the name of a sample, one a line.
Result<LogDialect> regex_dialect(const std::string& pattern);

}  // namespace ocrtune
