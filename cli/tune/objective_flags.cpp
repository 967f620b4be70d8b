// --objective and --max-latency may both name a percentile; one that contradicts is refused.
#include "cli/tune/objective_flags.h"

#include "base/text.h"

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

void ObjectiveFlags::declare(Flags& cli) {
  const char* const title = "Objective";
  cli.option("--objective", objective, "GOAL",
             "Prefer throughput, latency[:p50|p90|p95|p99] or memory")
      .under(title);
  cli.option("--min-rate", min_rate, "RATE", "Keep settings with at least this many samples/s")
      .default_text("")
      .under(title);
  cli.option("--max-latency", max_latency, "DURATION",
             "Keep settings whose steps are this short: 200ms, or p99=200ms")
      .under(title);
  cli.option("--max-memory", max_memory, "SIZE", "Keep settings whose peak is at most this: 8G")
      .under(title);
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
    OCRTUNE_TRY(read_max_latency(max_latency, given, *parsed));
  }
  if (!max_memory.empty()) {
    parsed->max_peak_bytes = OCRTUNE_TRY(read_size("--max-memory", max_memory));
  }
  return parsed;
}

}  // namespace ocrtune
