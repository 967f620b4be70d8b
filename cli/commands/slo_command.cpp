// ocrtune slo: the highest rate at which a server or a command keeps a latency SLO.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/commands/service_flags.h"
#include "cli/shell/machine_turn.h"
#include "cli/shell/progress.h"
#include "cli/shell/terminal.h"
#include "reports/console/slo_text.h"
#include "trial/workloads/service/arrivals.h"
#include "trial/workloads/service/request_file.h"
#include "trial/workloads/service/served_target.h"
#include "tuner/slo/slo_search.h"

namespace ocrtune {
namespace {

struct SloFlags {
  std::string slo, url, budget = "2m", trace;
  std::vector<std::string> inputs;
  std::vector<std::string> command;
  std::uint64_t seed = 1;
  ServiceFlags service;
  bool json = false, no_wait = false;
};

constexpr double kSlowStart = 2;  // seconds; worth a word

// A line for each rate that was tried; on a terminal one below that ticks.
class RateLines {
 public:
  explicit RateLines(double seconds) : began_(steady_clock().now_seconds()) {
    state_.trial = 1;
    state_.seconds_left = state_.budget_seconds = seconds;
    state_.unit = "requests/s";
    line_.show(state_);
  }

  void tell(const RateProbe& probe) {
    const char* const words[] = {"meets the target", "violates it", "undecided"};
    const double seconds = steady_clock().now_seconds() - began_;
    line_.note(fmt::format("{}: {} requests/s: {} ms, {}", format_duration(seconds),
                           format_count(probe.requests_per_second),
                           format_count(probe.latency_seconds * 1000),
                           words[static_cast<int>(probe.verdict)]));
    ++state_.trial;
    state_.seconds_left = state_.budget_seconds - seconds;
    if (probe.verdict == SloVerdict::met) {
      const double best = std::max(state_.best.median, probe.requests_per_second);
      state_.best = {best, best, best};
    }
    line_.show(state_);
  }

  void note(const std::string& line) { line_.note(line); }
  void clear() { line_.clear(); }

 private:
  double began_;
  SearchState state_;
  SearchProgress line_;
};

Result<int> run_slo(const SloFlags& flags) {
  SloSearchOptions options;
  const auto slo = OCRTUNE_TRY(parse_slo(flags.slo));
  options.slo = slo;
  if (flags.url.empty() == flags.command.empty()) {
    return Error{ErrorKind::usage, "give either --url URL or a command after --"};
  }
  const auto budget = parse_duration(flags.budget);
  if (!budget) return Error{ErrorKind::usage, "--budget: " + budget.error().what};
  options.budget_seconds = *budget;
  options.seed = flags.seed;
  if (!flags.trace.empty()) options.trace = OCRTUNE_TRY(read_trace(flags.trace));
  // Read only to refuse a bad file before anything is started or waited for.
  for (const std::string& input : flags.inputs) OCRTUNE_TRY(read_request(input));
  const ServicePatience patience = OCRTUNE_TRY(read_patience(flags.service));
  OCRTUNE_TRY(check_may_load(flags.url, flags.service));
  if (flags.inputs.size() > 1) options.kind_weights.assign(flags.inputs.size(), 1.0);
  // The turn is kept until the answer: another measurement would share the server's CPUs.
  const MachineLock turn = OCRTUNE_TRY(take_turn(flags.no_wait));
  ServedTargetOptions served;
  served.command = flags.command;
  served.url = flags.url;
  served.inputs = flags.inputs;
  const RequestLimits asked_for = request_limits(flags.inputs);
  served.request_seconds =
      patience.request_seconds > 0 ? patience.request_seconds : asked_for.timeout_seconds;
  // A server that never answers must not take longer than the search would.
  served.start_seconds = std::min(kStartSeconds, options.budget_seconds);
  if (patience.start_seconds > 0) {
    served.start_seconds = served.busy_start_seconds = patience.start_seconds;
  }
  const int most =
      flags.service.max_in_flight > 0 ? flags.service.max_in_flight : asked_for.max_in_flight;
  if (most > 0) served.max_in_flight = options.max_in_flight = most;
  const double asked = steady_clock().now_seconds();
  const auto target = OCRTUNE_TRY([&] {
    const WorkLine line("waiting for a first answer", flags.json);
    return make_served_target(served);
  }());
  const double start = steady_clock().now_seconds() - asked;
  options.patience_seconds =
      patience.request_seconds > 0 ? patience.request_seconds : learned_timeout(start);
  RateLines lines(options.budget_seconds);
  if (!flags.json && start > kSlowStart) {
    lines.note("first answer after " + format_duration(start) + "; the budget begins here");
  }
  if (!flags.json) options.on_probe = [&](const RateProbe& probe) { lines.tell(probe); };
  const auto found = OCRTUNE_TRY(find_highest_rate(*target, steady_clock(), options));
  lines.clear();
  // A command that ended meanwhile has no rate, whatever was measured before.
  if (!target->ended().empty()) return Error{ErrorKind::failed, target->ended()};
  const std::string page =
      flags.json ? slo_json(found, slo) : slo_text(found, slo, console_width(stdout));
  std::fputs(page.c_str(), stdout);
  if (interrupted()) {
    return Error{ErrorKind::interrupted, "interrupted", "the rates above stand, nothing is stored"};
  }
  return found.found ? kExitOk : kExitNegative;
}

}  // namespace

CommandRun declare_slo(Flags& cli) {
  auto flags = std::make_shared<SloFlags>();
  cli.argument("target", flags->slo, "Latency target, such as p99=50ms: 99 % answered in 50 ms")
      .require(
          "name the latency target, for example: ocrtune slo p99=50ms --url "
          "http://127.0.0.1:8080/");
  cli.argument("command", flags->command, "Command that serves, unless --url is given").file();
  cli.option("--url", flags->url, "URL", "Send requests to this HTTP endpoint");
  cli.option(
         "--input", flags->inputs, "FILE",
         "Send this file, or what a .request.toml makes of one; several are sent equally often, "
         "take the widest one too")
      .file();
  cli.option("--budget", flags->budget, "DURATION",
             "Total time of the search, from the first answer on");
  cli.option("--trace", flags->trace, "FILE",
             "Send at recorded arrivals, a time in seconds a line, instead of Poisson's")
      .file();
  cli.option("--seed", flags->seed, "N", "Seed of the arrivals");
  declare_service_flags(cli, flags->service, "");
  cli.toggle("--no-wait", flags->no_wait, kNoWaitHelp);
  cli.json(flags->json);
  return [flags] { return run_slo(*flags); };
}

}  // namespace ocrtune
