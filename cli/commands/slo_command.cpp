// ocrtune slo: the highest rate at which a server or a command keeps a latency promise.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "cli/command_list.h"
#include "cli/shell/terminal.h"
#include "reports/console/slo_page.h"
#include "trial/workloads/service/arrivals.h"
#include "trial/workloads/service/command_target.h"
#include "trial/workloads/service/http_target.h"
#include "tuner/slo/slo_search.h"

namespace ocrtune {
namespace {

struct SloFlags {
  std::string promise, url, budget = "2m", trace;
  std::vector<std::string> inputs;
  std::vector<std::string> command;
  std::uint64_t seed = 1;
  bool json = false;
};

std::string content_type(const std::string& path) {
  const std::string name = lower(path);
  if (ends_with(name, ".png")) return "image/png";
  if (ends_with(name, ".jpg") || ends_with(name, ".jpeg")) return "image/jpeg";
  if (ends_with(name, ".json")) return "application/json";
  return "application/octet-stream";
}

Result<std::unique_ptr<LoadTarget>> target_of(const SloFlags& flags) {
  if (!flags.url.empty()) {
    HttpTargetOptions options;
    options.url = flags.url;
    for (const std::string& path : flags.inputs) {
      auto bytes = read_file(path);
      if (!bytes) return bytes.error();
      options.bodies.push_back({content_type(path), std::move(*bytes)});
    }
    return make_http_target(options);
  }
  CommandTargetOptions options;
  options.command = flags.command;
  options.inputs = flags.inputs;
  auto target = CommandTarget::start(options);
  if (!target) return target.error();
  return std::unique_ptr<LoadTarget>(std::move(*target));
}

Result<int> run_slo(const SloFlags& flags) {
  SloSearchOptions options;
  const auto promise = parse_promise(flags.promise);
  if (!promise) return promise.error();
  options.promise = *promise;
  if (flags.url.empty() == flags.command.empty()) {
    return Error{ErrorKind::usage, "give either --url URL or a command after --"};
  }
  const auto budget = parse_duration(flags.budget);
  if (!budget) return Error{ErrorKind::usage, "--budget: " + budget.error().what};
  options.budget_seconds = *budget;
  options.seed = flags.seed;
  if (!flags.trace.empty()) {
    auto trace = read_trace(flags.trace);
    if (!trace) return trace.error();
    options.trace = std::move(*trace);
  }
  if (flags.inputs.size() > 1) options.kind_weights.assign(flags.inputs.size(), 1.0);
  const auto target = target_of(flags);
  if (!target) return target.error();
  const auto found = find_highest_rate(**target, steady_clock(), options);
  if (!found) return found.error();
  const std::string page =
      flags.json ? slo_json(*found, *promise) : slo_text(*found, *promise, terminal_width(stdout));
  std::fputs(page.c_str(), stdout);
  if (interrupted()) return kExitInterrupted;
  return found->found ? kExitOk : kExitNegative;
}

}  // namespace

Command slo_command() {
  return {
      "slo", "the highest rate at which a server keeps a latency promise",
      "ocrtune slo p99=50ms --url http://127.0.0.1:8080/ocr --input wide.png --input short.png\n"
      "  ocrtune slo p95=80ms --budget 5m --input a.png -- python3 serve_lines.py\n"
      "A command reads {\"id\": 7, \"input\": \"a.png\"} a line and answers {\"id\": 7} or\n"
      "{\"id\": 7, \"error\": \"...\"}. Exit code: 0 found, 1 no rate keeps the promise.",
      [](CLI::App& app) {
        auto flags = std::make_shared<SloFlags>();
        app.add_option("promise", flags->promise, "p99=50ms: 99 % answered within 50 ms")
            ->required();
        app.add_option("--url", flags->url, "HTTP endpoint to send to");
        app.add_option("--input", flags->inputs,
                       "file to send (repeat it: sent equally often; take the widest one too)")
            ->expected(1)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
        app.add_option("--budget", flags->budget, "time for the search (default 2m)");
        app.add_option("--trace", flags->trace,
                       "recorded arrivals, a time in seconds a line, instead of Poisson");
        app.add_option("--seed", flags->seed, "of the arrivals");
        app.add_flag("--json", flags->json, "print one JSON document");
        app.add_option("command", flags->command, "your command, after --");
        return [flags] { return run_slo(*flags); };
      }};
}

}  // namespace ocrtune
