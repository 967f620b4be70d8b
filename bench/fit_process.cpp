#include "bench/fit_process.h"

#include <poll.h>

#include <cmath>
#include <csignal>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/process.h"
#include "bench/fit_words.h"
#include "bench/line_splitter.h"
#include "probes/gpu_ids.h"

namespace ocrtune {
namespace {

using Json = FieldsJson;

TrainingProgress parse_progress(const Json& json) {
  // A loss that is no number is null in JSON.
  const auto number = [&](const char* name) {
    const Json& at = json.at(name);
    return at.is_number() ? at.get<double>() : std::nan("");
  };
  return {json.at("step").get<std::int64_t>(), number("loss"), number("label_error_rate"),
          number("samples_per_second"), number("data_share")};
}

Error parse_error(const Json& json) {
  const int kind = json.at("kind").get<int>();
  const bool known = kind >= 0 && kind <= static_cast<int>(ErrorKind::failed);
  return Error{known ? static_cast<ErrorKind>(kind) : ErrorKind::failed,
               json.at("what").get<std::string>()};
}

class Watch {
 public:
  Watch(Process process, const FitOptions& options,
        const std::function<void(const TrainingProgress&)>& report)
      : process_(std::move(process)), options_(options), report_(report), heard_(now()) {}

  Result<TrainingOutcome> run() {
    while (true) {
      read();
      if (process_.poll_exit()) break;
      if (interrupted() && stopping_ < 0) {
        stopping_ = now();
        process_.signal(SIGTERM);
      }
      if (stopping_ >= 0 && now() - stopping_ > options_.farewell_seconds) {
        return Error{ErrorKind::failed,
                     "interrupted, and the GPU's process did not end: the last "
                     "checkpoint that was written is kept"};
      }
      if (stopping_ < 0 && now() - heard_ > allowed()) {
        return Error{ErrorKind::failed, fmt::format("the GPU's process was silent for {:.0f} s and "
                                                    "was ended; the last checkpoint is kept",
                                                    allowed())};
      }
      pollfd one{process_.output_descriptor(), POLLIN, 0};
      ::poll(&one, one.fd < 0 ? 0 : 1, 50);
    }
    while (process_.output_descriptor() >= 0 && read() > 0) {
    }
    if (outcome_) return *outcome_;
    if (error_) return *error_;
    return Error{ErrorKind::failed,
                 "the GPU's process ended without an answer: " + process_.poll_exit()->text() +
                     (noise_.empty() ? "" : "; it said: " + noise_)};
  }

 private:
  static double now() { return steady_clock().now_seconds(); }
  double allowed() const { return stepped_ ? options_.silent_seconds : options_.start_seconds; }

  std::size_t read() {
    return process_.read_output([this](std::string_view bytes) {
      lines_.add(bytes, [this](const std::string& line) { hear(line); });
    });
  }

  void hear(const std::string& line) {
    try {
      const Json json = Json::parse(line);
      const std::string what = json.at("fit").get<std::string>();
      heard_ = now();
      if (what == "progress") report_(parse_progress(json));
      if (what == "outcome") outcome_ = read_fields<TrainingOutcome>(kOutcomeFields, json);
      if (what == "error") error_ = parse_error(json);
      stepped_ = stepped_ || what == "progress";
    } catch (const Json::exception&) {
      noise_ = line;  // a library's words
    }
  }

  Process process_;
  const FitOptions& options_;
  const std::function<void(const TrainingProgress&)>& report_;
  LineSplitter lines_;
  double heard_, stopping_ = -1;
  bool stepped_ = false;
  std::string noise_;
  std::optional<TrainingOutcome> outcome_;
  std::optional<Error> error_;
};

}  // namespace

Result<TrainingOutcome> run_fit_process(
    const FitSpec& spec, const FitOptions& options,
    const std::function<void(const TrainingProgress&)>& report) {
  ProcessOptions start;
  start.arguments = {options.program, "fit", "--spec", fit_spec_text(spec)};
  for (auto& variable : gpu_environment({0, -1, spec.gpu, ""}, GpuVendor::nvidia)) {
    start.environment.push_back(std::move(variable));
  }
  auto process = Process::start(start);
  if (!process) return process.error();
  return Watch(std::move(process).value(), options, report).run();
}

}  // namespace ocrtune
