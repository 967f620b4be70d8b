#include "cli/tune/objective_flags.h"

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "trial/observe/energy_counter.h"

namespace ocrtune {
namespace {

// "200ms" at the percentile of the objective, or "p99=200ms".
Status read_max_latency(const std::string& text, bool percentile_given, Objective& objective) {
  const std::string flag = "--max-latency " + text;
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos) {
    const auto at = parse_objective("latency:" + text.substr(0, equals));
    if (!at) return Error{ErrorKind::usage, flag + ": needs a time such as 200ms, or p99=200ms"};
    if (percentile_given && at->percentile != objective.percentile) {
      return Error{ErrorKind::usage, flag + ": its percentile is not that of --objective"};
    }
    objective.percentile = at->percentile;
  }
  const auto seconds = parse_duration(equals == std::string::npos ? text : text.substr(equals + 1));
  if (!seconds) return Error{ErrorKind::usage, "--max-latency: " + seconds.error().what};
  objective.max_step_seconds = *seconds;
  return Status();
}

}  // namespace

void ObjectiveFlags::declare(CLI::App& app) {
  app.add_option("--objective", objective,
                 "What is best: throughput, latency[:p50|p90|p95|p99], memory or energy")
      ->group("Objective");
  app.add_option("--min-rate", min_rate, "Only settings with at least so many samples per second")
      ->group("Objective");
  app.add_option("--max-latency", max_latency,
                 "Only settings whose steps are this short: 200ms, or p99=200ms")
      ->group("Objective");
  app.add_option("--max-memory", max_memory, "Only settings whose peak is at most this: 8G")
      ->group("Objective");
}

Result<Objective> ObjectiveFlags::read() const {
  auto parsed = parse_objective(objective);
  if (!parsed) return Error{ErrorKind::usage, "--objective: " + parsed.error().what};
  if (!(min_rate >= 0)) {
    return Error{ErrorKind::usage, "--min-rate needs a number of samples per second above 0"};
  }
  parsed->min_samples_per_second = min_rate;
  if (!max_latency.empty()) {
    const bool given = objective.find(':') != std::string::npos;
    const Status latency = read_max_latency(max_latency, given, *parsed);
    if (!latency) return latency.error();
  }
  if (!max_memory.empty()) {
    const auto bytes = parse_bytes(max_memory);
    if (!bytes || *bytes == 0) {
      return Error{ErrorKind::usage, "--max-memory: '" + max_memory + "' is not a size such as 8G"};
    }
    parsed->max_peak_bytes = *bytes;
  }
  if (parsed->goal != Goal::energy) return parsed;
  const EnergyCounter counter;
  if (counter.available()) return parsed;
  return Error{ErrorKind::unsupported, "--objective energy: " + counter.missing_reason()};
}

}  // namespace ocrtune
