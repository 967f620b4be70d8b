// Starts one process for each rank in a tree of its own, waits, stops what is left, and reads
// findings and NCCL's log files. All ranks share a temporary folder: for their rendezvous and for
// the logs.
#include "probes/p2p/steps/gpu_step.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/process_tree.h"
#include "base/text.h"
#include "probes/gpu/gpu_worker_program.h"

namespace ocrtune {
namespace {

// Kept from the user's environment: without them NCCL may not find its own machine.
bool kept(const std::string& name) {
  static const std::vector<std::string> kKept = {"NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY",
                                                 "NCCL_IB_HCA",        "NCCL_TOPO_FILE",
                                                 "NCCL_COMM_ID",       "NCCL_HOSTID"};
  return std::find(kKept.begin(), kKept.end(), name) != kKept.end();
}

ProcessOptions options_of(const GpuStep& step, const GpuStepPlace& place, int rank,
                          const std::string& folder) {
  ProcessOptions start;
  start.arguments = {gpu_worker_program(place.worker, place.environment),
                     "step",
                     step.kind,
                     "--rank=" + std::to_string(rank),
                     "--world=" + std::to_string(step.ranks),
                     "--folder=" + folder};
  start.arguments.insert(start.arguments.end(), step.options.begin(), step.options.end());
  start.output_bytes = 4 << 20;
  for (const auto& [name, value] : place.environment) {
    if (starts_with(name, "NCCL_") && !kept(name))
      start.environment.emplace_back(name, std::nullopt);
    if (starts_with(name, "OCRTUNE_")) start.environment.emplace_back(name, value);
  }
  // With it a launch waits for its kernel, and a handshake of two kernels for the second's
  // time-out.
  start.environment.emplace_back("CUDA_LAUNCH_BLOCKING", std::nullopt);
  for (const auto& [name, value] : step_environment(step, folder)) {
    start.environment.emplace_back(name, value);
  }
  return start;
}

bool ended(const std::vector<GpuFinding>& findings, int rank) {
  return std::any_of(findings.begin(), findings.end(), [&](const GpuFinding& finding) {
    return finding.what == "end" && finding.rank == rank;
  });
}

std::string last_words(const Process& process) {
  for (const std::string& line : [&] {
         auto lines = split(trim(process.output().contents()), '\n');
         std::reverse(lines.begin(), lines.end());
         return lines;
       }()) {
    if (!trim(line).empty() && !starts_with(line, "{")) {
      const bool lacks = line.find("error while loading shared libraries") != std::string::npos;
      return ", last words: " + valid_utf8(trim(line).substr(0, 160)) +
             (lacks ? "; OCRTUNE_CUDA_ROOT=FOLDER names a Python environment or CUDA folder with it"
                    : "");
    }
  }
  return "";
}

// One run of the processes: until all are gone, one has died and the rest had their time, the
// deadline or Ctrl-C.
class StepRun {
 public:
  StepRun(const GpuStep& step, const GpuStepPlace& place) : step_(step), place_(place) {}

  GpuStepResult run(const std::string& folder) {
    const double start = steady_clock().now_seconds();
    for (int rank = 0; rank < step_.ranks; ++rank) {
      auto process = tree_.start(options_of(step_, place_, rank, folder));
      if (!process) {
        out_.result = StepResult::crashed;
        out_.detail = process.error().what;
        break;
      }
      processes_.push_back(*process);
    }
    if (out_.detail.empty()) watch(start);
    const StopReport stopped = tree_.stop(place_.grace_seconds);
    out_.stuck = !stopped.survivors.empty();
    out_.seconds = steady_clock().now_seconds() - start;
    collect();
    judge();
    return std::move(out_);
  }

 private:
  void watch(double start) {
    double deadline = start + step_.deadline_seconds;
    bool died = false;
    while (true) {
      bool running = false;
      for (Process* process : processes_) {
        process->read_output({});
        const auto& exit = process->poll_exit();
        running = running || !exit;
        if (!exit || exit->clean() || died) continue;
        died = true;
        // The others often hang in a collective without it: they get a little time to say so.
        deadline = std::min(deadline, steady_clock().now_seconds() + place_.last_rank_seconds);
      }
      if (!running) return;
      if (ocrtune::interrupted()) {
        out_.interrupted = true;
        return;
      }
      if (steady_clock().now_seconds() >= deadline) {
        // Past a deadline that a dead rank shortened the step crashed; it did not hang.
        late_ = !died;
        return;
      }
      steady_clock().sleep_seconds(0.005);
    }
  }

  void collect() {
    for (Process* process : processes_) {
      while (process->output_descriptor() >= 0 && process->read_output({}) > 0) continue;
      for (GpuFinding& finding : find_gpu_findings(process->output().contents())) {
        out_.findings.push_back(std::move(finding));
      }
      NcclLog said;  // all else that NCCL says goes to its own files
      said.diagnostics = parse_nccl_log(process->output().contents()).diagnostics;
      merge_nccl_log(out_.log, said);
    }
  }

  // From the surest finding to the weakest: wrong data is proved even where the step then hung.
  void judge() {
    if (!out_.detail.empty()) return;
    if (out_.interrupted) return set(StepResult::not_run, "interrupted");
    if (const GpuFinding* finding = first("wrong_data")) {
      return set(StepResult::wrong_data, finding->detail);
    }
    if (late_) {
      return set(StepResult::hung,
                 fmt::format("no answer within {}{}", format_duration(step_.deadline_seconds),
                             out_.stuck ? ", and the driver holds the process in the kernel" : ""));
    }
    if (const GpuFinding* finding = first("hung")) return set(StepResult::hung, finding->detail);
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
      if (judge_exit(*processes_[rank], static_cast<int>(rank))) return;
    }
    if (const GpuFinding* finding = first("failed")) {
      return set(StepResult::crashed, finding->detail);
    }
    if (const GpuFinding* finding = first("unsupported")) {
      return set(StepResult::not_run, finding->detail);
    }
    set(StepResult::passed, "");
  }

  // True when this rank's end decides.
  bool judge_exit(Process& process, int rank) {
    const auto& exit = process.poll_exit();
    const bool said = first("failed") != nullptr;
    if (!exit || !exit->clean()) {
      if (said) return false;
      set(StepResult::crashed,
          fmt::format("rank {}: {}{}", rank, exit ? exit->text() : "lost", last_words(process)));
      return true;
    }
    // A clean exit without the last line is no answer: something else ended the process.
    if (ended(out_.findings, rank)) return false;
    set(StepResult::crashed,
        fmt::format("rank {} ended without an answer{}", rank, last_words(process)));
    return true;
  }

  const GpuFinding* first(const std::string& outcome) const {
    const auto at =
        std::find_if(out_.findings.begin(), out_.findings.end(),
                     [&](const GpuFinding& finding) { return finding.outcome == outcome; });
    return at == out_.findings.end() ? nullptr : &*at;
  }

  void set(StepResult result, std::string detail) {
    out_.result = result;
    out_.detail = std::move(detail);
  }

  const GpuStep& step_;
  const GpuStepPlace& place_;
  ProcessTree tree_;
  std::vector<Process*> processes_;
  GpuStepResult out_;
  bool late_ = false;
};

NcclLog read_logs(const std::string& folder) {
  NcclLog log;
  for (const std::string& name : list_directory(folder).value_or({})) {
    if (!starts_with(name, "nccl.")) continue;
    merge_nccl_log(log, parse_nccl_log(read_file(join_path(folder, name), 8 << 20).value_or("")));
  }
  return log;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> step_environment(const GpuStep& step,
                                                                  const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> all = {
      {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
      {"CUDA_VISIBLE_DEVICES", join(step.devices, ",")},
      {"NCCL_CONF_FILE", "/dev/null"},  // /etc/nccl.conf still counts: the verdict names it
      {"NCCL_DEBUG", "INFO"},
      {"NCCL_DEBUG_SUBSYS", "INIT,ENV,P2P,SHM,NET,GRAPH,TUNING"},
      {"NCCL_DEBUG_FILE", join_path(folder, "nccl.%h.%p.log")},
      {"NCCL_RUNTIME_CONNECT", "0"},  // so that "init" sets up every transport
      {"NCCL_RAS_ENABLE", "0"}};
  if (step.devices.empty()) all.erase(all.begin() + 1);  // as the user set it
  all.insert(all.end(), step.environment.begin(), step.environment.end());
  return all;
}

GpuStepResult run_gpu_step(const GpuStep& step, const GpuStepPlace& place) {
  auto folder = make_temporary_directory("gpu");
  if (!folder) {
    GpuStepResult out;
    out.result = StepResult::crashed;
    out.detail = folder.error().what;
    return out;
  }
  GpuStepResult out = StepRun(step, place).run(*folder);
  merge_nccl_log(out.log, read_logs(*folder));
  static_cast<void>(remove_tree(*folder));
  return out;
}

}  // namespace ocrtune
