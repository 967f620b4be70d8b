// ocrtune rank-exec: started by a launcher in place of the training program; binds, then becomes
// it.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/process.h"
#include "cli/commands.h"
#include "probes/gpu/gpu.h"
#include "probes/gpu/gpu_ids.h"
#include "probes/machine_gpus.h"
#include "trial/observe/rank_binding.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace ocrtune {
namespace {

Status bind_this_rank() {
  const char* text = std::getenv(kRankCpusVariable);
  if (text == nullptr || *text == '\0') return Status();
  const auto masks = OCRTUNE_TRY(parse_rank_cpus(text));
  std::string environment;
  for (char** line = environ; *line != nullptr; ++line) environment += std::string(*line) + '\0';
  const auto rank = local_rank_of(environment, "");
  const auto index = static_cast<std::size_t>(rank.value_or(0));
  if (!rank && masks.size() > 1) {
    return Error{ErrorKind::usage,
                 "no rank in the environment (LOCAL_RANK, PADDLE_LOCAL_RANK, ...): start it with "
                 "the launcher"};
  }
  if (index >= masks.size()) {
    return Error{ErrorKind::usage,
                 std::string(kRankCpusVariable) + " has no CPUs for rank " + std::to_string(index)};
  }
  return masks[index].empty() ? Status() : set_affinity(0, masks[index]);
}

// This rank sees its own GPU and no other.
Status take_gpu(const std::string& wanted) {
  if (wanted.empty()) return Status();
  const Environment environment = process_environment();
  const GpuReport report = probe_gpus(GpuProbeOptions{"", 20}, environment);
  if (report.gpus.empty()) {
    return Error{ErrorKind::missing, "--gpu " + wanted + ": " + report.state};
  }
  const GpuView view = visible_gpus(physical_gpus(report.gpus), environment, GpuVendor::nvidia);
  const auto gpu = OCRTUNE_TRY(gpu_of_rank(view, wanted, environment));
  if (gpu.physical < 0) return Error{ErrorKind::usage, view.problems.front()};
  for (const auto& [name, value] : gpu_environment(gpu, GpuVendor::nvidia)) {
    if (value) {
      ::setenv(name.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name.c_str());
    }
  }
  return Status();
}

Result<int> rank_exec(const std::vector<std::string>& command, const std::string& gpu) {
  const auto path = OCRTUNE_TRY(find_executable(command[0]));
  OCRTUNE_TRY(take_gpu(gpu));
  OCRTUNE_TRY(bind_this_rank());
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));  // NOLINT: execv's old signature
  }
  arguments.push_back(nullptr);
  release_interrupts();  // the program shall not inherit what we block and ignore
  ::execv(path.c_str(), arguments.data());
  return system_error(errno, "start " + command[0]);
}

}  // namespace

CommandRun declare_rank_exec(Flags& cli) {
  auto command = std::make_shared<std::vector<std::string>>();
  cli.argument("command", *command, "Program that the rank runs")
      .require("name the program after --, for example: ocrtune rank-exec -- python train.py")
      .file();
  auto gpu = std::make_shared<std::string>();
  cli.option("--gpu", *gpu, "auto|IDS",
             "Show rank r only its own GPU (auto) or the r-th of the list, as device 0");
  return [command, gpu] { return rank_exec(*command, *gpu); };
}

}  // namespace ocrtune
