// Starts ocrtune-gpu-worker, waits with a deadline and reads the report that it printed. A worker
// that died keeps its last words in the report's state.
#include "probes/gpu/gpu.h"

#include <csignal>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "probes/gpu/gpu_worker_program.h"

namespace ocrtune {
namespace {

GpuReport unknown(const std::string& why) {
  GpuReport report;
  report.state = "unknown: " + why;
  report.unknowns = {"GPUs: " + why};
  return report;
}

std::string last_line(const std::string& text) {
  const auto lines = split(trim(text), '\n');
  // What a crashed driver writes may be long; the state is one line for people.
  return lines.empty() ? "" : std::string(trim(lines.back())).substr(0, 160);
}

// SIGKILL ends everything but a process that the driver holds inside the kernel; that one is left
// to the system rather than waited for.
bool kill_and_reap(std::unique_ptr<Process>& child) {
  child->signal(SIGKILL);
  if (child->wait(1)) return true;
  static_cast<void>(child.release());
  return false;
}

}  // namespace

GpuReport probe_gpus(const GpuProbeOptions& options, const Environment& environment) {
  const std::string program = gpu_worker_program(options.worker, environment);
  if (!path_exists(program)) return unknown(program + " is not there, so no GPU can be asked");
  ProcessOptions start;
  start.arguments = {program, "probe"};
  // Room for the report of a machine with many GPUs, whose links are pairs.
  start.output_bytes = 4 << 20;
  for (const auto& [name, value] : environment) {
    // The rest is inherited. `environment` may be another one than this process's, as in tests.
    if (starts_with(name, "OCRTUNE_")) start.environment.emplace_back(name, value);
  }
  auto started = Process::start(start);
  if (!started) return unknown(started.error().what);
  auto child = std::make_unique<Process>(std::move(started).value());
  const auto exit = child->wait(options.deadline_seconds);
  if (!exit) {
    const bool gone = kill_and_reap(child);
    return unknown(fmt::format(
        "the GPU driver did not answer within {:.0f} s{}", options.deadline_seconds,
        gone ? " (without persistence mode it takes seconds for each GPU: nvidia-smi -pm 1)"
             : ", and holds the asking process in the kernel: the machine needs a restart"));
  }
  const std::string output = child->output().contents();
  auto report = find_gpu_report(output);
  if (report) return std::move(report).value();
  const std::string said = last_line(output);
  return unknown(fmt::format("{} ({}{}{})", report.error().what, exit->text(),
                             said.empty() ? "" : ", last words: ", said));
}

}  // namespace ocrtune
