// A stored run becomes a Deployment. Workload::launch() makes the line, as it does for verify; then
// a placeholder takes the place of secrets and of what belongs to the measured machine.
// How a format writes it is the matter of deployment_formats.cpp.
#include "reports/export/deployment.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/plural.h"
#include "base/secrets.h"
#include "base/text.h"
#include "probes/host/memory_nodes.h"
#include "probes/placement/allowed_cores.h"
#include "probes/placement/partition.h"
#include "reports/catalogue/headline.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/verdict.h"
#include "reports/export/env_file.h"
#include "trial/workloads/command/copy_number.h"
#include "trial/workloads/command/launch_port.h"
#include "trial/workloads/service/server_address.h"
#include "tuner/job/job_workload.h"
#include "tuner/session/run_launch.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {
namespace {

constexpr const char* kPort = "<PORT>";

// CPUs that the trials of the setting used, never less than its threads ask for: what other load
// kept from them they would have used.
int cpus_of(const RunRecord& run, const Knobs& knobs) {
  double used = knobs.nproc * knobs.threads;
  for (const SettingSummary& setting : run.result.settings) {
    if (setting.knobs != knobs) continue;
    used = std::max(used, setting.cpu_seconds_per_sample * setting.samples_per_second.median);
    // Beside other load CPU time says what the setting got, and runnable threads what it wanted.
    if (setting.discarded_samples > 0) used = std::max(used, setting.threads.runnable);
  }
  const int usable = cpus_in_reach(run.trials, knobs, usable_cpu_count(run.machine.cpu));
  // A hundredth above a whole CPU asks for no further one.
  return std::clamp(static_cast<int>(std::ceil(used - 0.01)), 1, std::max(1, usable));
}

std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (const char c : plain_line(text, 4096)) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

std::string summary_of(const RunRecord& run) {
  const TuneResult& result = run.result;
  const Recommendation& best = result.recommendation;
  const char* const unit = rate_unit(run);
  std::string text = fmt::format("# {}\n\n{}\n\n", markdown_cell("Run " + run.id),
                                 markdown_cell(headline(run).english));
  text += fmt::format("| | setting | {} | peak memory |\n|---|---|---|---|\n", unit);
  text += fmt::format("| {} | {} | {} | {} |\n",
                      is_recommendation(result.verdict) ? "recommended" : "leading",
                      markdown_cell(knobs_text(best.knobs)), rate_text(best.samples_per_second),
                      format_bytes(best.peak_bytes));
  if (result.baseline.trials > 0) {
    text += fmt::format(
        "| baseline | {} | {} | {} |\n", markdown_cell(knobs_text(result.baseline.knobs)),
        rate_text(result.baseline.samples_per_second), format_bytes(result.baseline.peak_bytes));
  }
  text += fmt::format("\nMachine: {}, {}. Started {}; {}.\n", markdown_cell(run.machine.host),
                      how_many(usable_cpu_count(run.machine.cpu), "CPU"),
                      markdown_cell(run.started), how_many(run.trials.size(), "trial"));
  return text;
}

// "<HTTP_PROXY>" of http_proxy, as placeholders_of() finds it.
std::string placeholder_of(const std::string& variable) {
  std::string name = variable;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return std::isalnum(c) != 0 ? static_cast<char>(std::toupper(c)) : '_';
  });
  return "<" + name + ">";
}

// Where the server of the run is reached, and its launch without the port of a trial.
std::optional<DeployedService> service_of(const RunRecord& run, Launch& launch) {
  if (!run.job.serves() || run.job.url().empty() || run.job.command().empty()) return {};
  DeployedService service;
  std::string url = run.job.url();
  if (url.find("{port}") != std::string::npos) {
    // launch() has put kLaunchPort where a trial has a free port.
    const std::string port = fmt::format("{}", kLaunchPort);
    replace_all(url, "{port}", kPort);
    for (std::string& argument : launch.arguments) replace_all(argument, port, kPort);
    for (auto& [name, value] : launch.environment) replace_all(value, port, kPort);
  }
  const bool copies = url.find("{copy}") != std::string::npos;
  for (int copy = 0; copy < (copies ? run.result.recommendation.knobs.nproc : 1); ++copy) {
    const std::string one = fill_copy(url, copy);
    const int port = url_place(one).port;
    service.ports.push_back(port > 0 ? fmt::format("{}", port) : kPort);
    if (copy == 0) service.path = url_path(one);
  }
  service.answers_get = run.job.requests().inputs.empty();
  return service;
}

std::string measured_line(const RunRecord& run) {
  const auto version = run.versions.find("ocrtune");
  const std::string verdict = verdict_name(run.result.verdict);
  std::string line = "ocrtune";
  if (version != run.versions.end()) line += " " + version->second;
  line += fmt::format(" on {}, {}: {}, {} {}", run.machine.host, run.started.substr(0, 10), verdict,
                      rate_text(run.result.recommendation.samples_per_second), rate_unit(run));
  return plain_line(line);
}

// What the line needs beside its program, which an image or another machine may lack: ocrtune,
// which binds ranks or starts copies, and the allocator that it preloads.
std::string needs_caution(const Launch& launch) {
  std::vector<std::string> needs;
  const auto& words = launch.arguments;
  // The word before "rank-exec" is the path of ocrtune on the measured machine.
  const auto starter = std::ranges::find(words, "rank-exec");
  if (starter != words.begin() && starter != words.end()) {
    needs.push_back("Needs ocrtune where it runs, as " + plain_line(*std::prev(starter)));
  }
  for (const auto& [name, value] : launch.environment) {
    if (name != "LD_PRELOAD") continue;
    needs.push_back("Needs the libraries of LD_PRELOAD where it runs: " + plain_line(value));
  }
  return join(needs, ". ");
}

// Everything that was seen or cannot be ruled out, the margin of it, and at least a floor: a trial
// of seconds does not see what fragments and wider inputs add to a small program. Never beyond the
// limit under which it was measured, unless it needs that.
std::uint64_t memory_to_ask(const Safety& safety) {
  // A guess stands for what a short trial misses.
  constexpr std::uint64_t kFloorBytes = 256ULL << 20;
  const Resource* host = safety.find(ResourceKind::host_memory);
  if (host == nullptr || host->peak == 0) return 0;
  const std::uint64_t needed = std::max(host->peak, host->possible);
  const auto share = static_cast<std::uint64_t>(safety.margin * static_cast<double>(needed));
  const std::uint64_t asked = needed + std::max(share, kFloorBytes);
  return host->limit > needed ? std::min(asked, host->limit) : asked;
}

// What makes the folder first, for starters without a shell.
std::vector<std::string> with_scratch(std::vector<std::string> arguments,
                                      const std::string& scratch) {
  if (scratch.empty()) return arguments;
  arguments.insert(arguments.begin(), {"sh", "-c", R"(mkdir -p "$0" && exec "$@")", scratch});
  return arguments;
}

}  // namespace

std::string run_on_hosts_line(const RunRecord& run) {
  const auto hosts = recommended_hosts(run);
  if (hosts.empty()) return "";
  std::vector<std::string> words = {"ocrtune", "run",     "--from",
                                    run.id,    "--hosts", join(hosts, ",")};
  if (run.job.command_job().launcher != "ssh") {
    words.insert(words.end(), {"--launcher", run.job.command_job().launcher});
  }
  return shell_join(words);
}

// What to know before the file is used; may be empty.
std::string caution_of(const RunRecord& run, const Launch& launch) {
  std::string caution = run.job.command().empty()
                            ? "Not measured: the run is of the built-in engine, this is its like"
                            : needs_caution(launch);
  if (is_recommendation(run.result.verdict)) return caution;
  return kOpenNote + (caution.empty() ? "" : ". " + caution);
}

Result<Deployment> deployment_of(const RunRecord& run) {
  if (!run.result.found) {
    return Error{ErrorKind::missing,
                 fmt::format("run {0} recommends nothing; `ocrtune show {0}` says why", run.id)};
  }
  const Recommendation& best = run.result.recommendation;
  Deployment deployment;
  deployment.run_id = plain_line(run.id);
  deployment.setting = plain_line(knobs_text(best.knobs));
  deployment.measured = measured_line(run);
  deployment.launch = OCRTUNE_TRY(
      workload_of(run.job, run.search)->launch(run.machine, best.knobs, seen_of_program(run)));
  // Only a launch with a host's number in it has to be started on each host.
  const std::vector<std::string> open = placeholders_of(launch_text(deployment.launch));
  if (std::find(open.begin(), open.end(), "<NODE_RANK>") != open.end()) {
    deployment.nodes = nodes_of(best.knobs);
  }
  for (const std::string& host : recommended_hosts(run))
    deployment.hosts.push_back(plain_line(host));
  for (int i = 0; deployment.hosts.empty() && i < deployment.nodes; ++i) {
    deployment.hosts.push_back(fmt::format("<HOST_{}>", i));
  }
  Launch& launch = deployment.launch;
  if (!launch.server.empty()) {
    return Error{ErrorKind::usage, "run " + run.id + " measured the server at " + launch.server +
                                       ", which ocrtune does not start"};
  }
  deployment.service = service_of(run, launch);
  if (launch.directory.empty()) launch.directory = run.job.program().directory;
  launch.arguments = with_scratch(masked_arguments(launch.arguments), launch.scratch);
  for (std::string& argument : launch.arguments) {
    // In the line for PaddleOCR this word stands for the reader's own file.
    if (argument == "CONFIG.yml" && run.job.command().empty()) argument = "<CONFIG>";
    const std::size_t mask = argument.find(kMask);
    if (mask != std::string::npos) {
      argument.replace(mask, std::string_view(kMask).size(), "<SECRET>");
    }
  }
  Variables variables;
  for (auto& [name, value] : launch.environment) {
    // The CPUs of this variable are numbers of the measured machine.
    if (name == "OCRTUNE_RANK_CPUS") {
      deployment.pinned.emplace_back(name, value);
    } else {
      variables.emplace_back(name, looks_secret(name) ? placeholder_of(name) : value);
    }
  }
  for (const std::string& name : run.job.program().inherited) {  // its value is not stored
    const bool there = std::any_of(variables.begin(), variables.end(),
                                   [&](const auto& one) { return one.first == name; });
    if (!there) variables.emplace_back(name, placeholder_of(name));
  }
  launch.environment = std::move(variables);
  deployment.ranks = best.knobs.nproc;
  deployment.cpus = cpus_of(run, best.knobs);
  const CpuFacts& cpu = run.machine.cpu;
  const int cores = allowed_cores(cpu);
  // Fewer cores than CPUs: this machine numbers hardware threads.
  deployment.whole_cores = cpu.allowed.count() > cores && deployment.cpus <= cores;
  deployment.memory_policy = sets_memory_policy(launch.arguments);
  deployment.memory_bytes = memory_to_ask(run.result.verdict.safety);
  if (run.job.on_gpus() || run.job.command_gpus() > 0) {  // processes may share one
    const auto there = std::max(static_cast<int>(run.job.gpus().size()), run.job.command_gpus());
    deployment.gpus = std::min(best.knobs.nproc, there);
  }
  // What stands for the built-in engine was not measured itself: its memory is another's.
  if (run.job.command().empty()) deployment.memory_bytes = 0;
  deployment.caution = caution_of(run, launch);
  deployment.summary = summary_of(run);
  return deployment;
}

std::string object_name(const std::string& run_id) { return "ocrtune-" + lower(run_id); }

Status take_plan(const std::string& json, Deployment& deployment) {
  if (!deployment.service) {
    return Error{
        ErrorKind::usage,
        "--with: a plan says how many copies of a service are needed, and this run is of no "
        "server with --url"};
  }
  const auto plan = nlohmann::json::parse(json, nullptr, false);
  // Of the year its first month, with spares and zones.
  const auto count_at = [&](const char* path) {
    const nlohmann::json::json_pointer at(path);
    return plan.contains(at) && plan[at].is_number_integer() ? plan[at].get<int>() : 0;
  };
  // These are the keys of docs/schema.md for `ocrtune plan --json`.
  const int bought = count_at("/year/months/0/bought_machines");
  const int replicas = bought > 0 ? bought : count_at("/machines/high");
  if (replicas < 1) {
    return Error{ErrorKind::invalid,
                 "--with: no count of machines is in it; write it with `ocrtune plan --json`"};
  }
  deployment.service->replicas = replicas;
  deployment.service->planned = true;
  return Status();
}

const ExportFormat* find_export_format(const std::string& name) {
  for (const ExportFormat& format : export_formats()) {
    if (name == format.name) return &format;
  }
  return nullptr;
}

std::vector<std::string> placeholders_of(const std::string& text) {
  std::vector<std::string> found;
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
    std::size_t end = at + 1;
    while (end < text.size() &&
           (std::isupper(static_cast<unsigned char>(text[end])) != 0 ||
            std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) {
      ++end;
    }
    if (end == at + 1 || end == text.size() || text[end] != '>') continue;
    const std::string name = text.substr(at, end + 1 - at);
    if (std::find(found.begin(), found.end(), name) == found.end()) found.push_back(name);
  }
  return found;
}

}  // namespace ocrtune
