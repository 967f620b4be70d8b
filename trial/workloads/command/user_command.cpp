// Space, runner and launch are made from the command with its preset worked in. A run that was
// stored keeps that work (`launch`), so an answer needs no preset any more.
#include "trial/workloads/command/user_command.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "trial/logs/log_reader.h"
#include "trial/observe/thread_runtimes.h"
#include "trial/workloads/command/command_prepare.h"
#include "trial/workloads/command/command_runner.h"
#include "trial/workloads/command/command_template.h"
#include "trial/workloads/usual_axes.h"

namespace ocrtune {
namespace {

constexpr double kMaxEvaluation = 3600;  // seconds without a word, which other limits end before

class UserCommand : public Workload {
 public:
  explicit UserCommand(UserCommandOptions options) : options_(std::move(options)) {}

  Unit unit() const override { return command_unit(options_.command); }

  WorkloadSpace space(const Machine& machine) const override {
    return command_space(options_, machine);
  }

  // A command that is silent is given up by the silence rule; one that prints, but not the metric,
  // by this.
  TrialLimits limits(double measure_seconds) const override {
    TrialLimits limits = Workload::limits(measure_seconds);
    limits.max_seconds += 60;
    return limits;
  }

  WorkloadMemory memory() const override { return command_memory(options_); }

  // It loads an interpreter, a framework and its lists.
  // A guess in seconds.
  double overhead_seconds() const override { return 6; }

  Result<std::unique_ptr<Runner>> runner(const Machine& machine) const override {
    OCRTUNE_TRY(check_measured_files({options_.label_file}));
    const auto prepared = OCRTUNE_TRY(prepared_command(options_, machine));
    SilenceRule silence;
    if (options_.command.rehearses) silence.min_seconds = kMaxEvaluation;
    return controlled(make_command_runner(prepared, machine, silence), machine);
  }

  Result<Launch> launch(const Machine& machine, const Knobs& knobs,
                        const SeenOfProgram& seen) const override {
    PreparedCommand prepared = OCRTUNE_TRY(kept_command(options_, machine));
    leave_out_unused(prepared.workload, seen);
    return launch_of(prepared, machine, knobs);
  }

 private:
  UserCommandOptions options_;
};

// One copy for each GPU and fewer, then up to four that share one.
std::vector<std::string> copies_on(int gpus) {
  std::vector<int> counts = half_doublings(gpus);
  // Up to four copies on one GPU: a guess.
  for (int share = 2; share <= 4; ++share) counts.push_back(share * gpus);
  return number_texts(counts);
}

}  // namespace

Result<PreparedCommand> prepared_command(const UserCommandOptions& options,
                                         const Machine& machine) {
  // The command may have been changed since it was prepared.
  const bool holds = options.ready != nullptr && options.ready->workload == options.command;
  return holds ? options.ready->prepared : prepare_command(options.command, machine);
}

Unit command_unit(const CommandWorkload& command) {
  std::string reader = command.log_reader;
  if (!command.metric.empty()) reader = (reader.empty() ? "metric" : reader) + ":" + command.metric;
  if (reader == "runs") return Unit::run_rate;
  const bool batch_known = !command.present || !command.present->absent.contains("batch");
  return !batch_known && reads_steps(reader) ? Unit::step_rate : Unit::sample_rate;
}

WorkloadSpace command_space(const UserCommandOptions& options, const Machine& machine) {
  WorkloadSpace space;
  if (options.lines > 0) space.constraints.push_back(fmt::format("nproc*batch<={}", options.lines));
  if (options.gpus > 0) {
    // The batch is tried to a quarter and to four times what it is: the GPUs' memory ends that.
    const BatchRange around{std::max(1, options.batch / 4), 4 * options.batch};
    space.axes = gpu_axes(machine, options.gpus, doublings(around));
    if (copies_take_gpus(options.command)) {
      set_axis(space.axes, {"nproc", {}, copies_on(options.gpus)});
    } else {
      if (options.gpus > 1) space.axes.push_back({"p2p", {}, {"auto", "off"}});
      space.constraints.push_back(fmt::format("nproc<={}", options.gpus));
    }
    space.axes.push_back({"binding", {}, bindings(machine)});
    space.sensible = [machine](const Knobs& knobs, const std::set<std::string>& listed) {
      return sensible_on_gpus(machine, knobs, listed);
    };
    return space;
  }
  space.axes = cpu_axes(machine, batches_within({}, options.lines));
  if (options.trains && machine.gpus.size() > 1) {
    space.axes.push_back({"p2p", {}, {"auto", "off"}});
    space.axes.push_back({"algo", {}, {"auto", "Ring", "Tree"}});
    space.axes.push_back({"ctas", {}, {"auto", "4", "16"}});
  }
  space.sensible = [machine](const Knobs& knobs, const std::set<std::string>& listed) {
    return sensible_on_cpus(machine, knobs, listed);
  };
  space.rules_of_thumb = options.trains;
  return space;
}

WorkloadMemory command_memory(const UserCommandOptions& options, bool guards) {
  WorkloadMemory memory;
  memory.guards = guards;
  if (options.gpus > 0 && copies_take_gpus(options.command)) memory.shared_gpus = options.gpus;
  return memory;
}

CommandWorkload kept_workload(const UserCommandOptions& options) {
  CommandWorkload workload = options.command;
  if (options.launch.empty()) return workload;
  workload.command = options.launch;
  workload.gpus = options.launch_gpus;
  // Its work is in the command already, and would be done twice.
  workload.preset.clear();
  return workload;
}

Result<PreparedCommand> kept_command(const UserCommandOptions& options, const Machine& machine) {
  PreparedCommand kept;
  kept.workload = kept_workload(options);
  return kept.workload.preset.empty() ? kept : prepare_launch(kept.workload, machine);
}

void leave_out(CommandWorkload& workload, const std::set<std::string>& inert) {
  std::erase_if(workload.knobs, [&](const std::string& knob) { return inert.contains(knob); });
  std::erase_if(workload.environment, [&](const auto& variable) {
    const auto names = placeholder_names(variable.second);
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return inert.contains(name); });
  });
}

void leave_out_unused(CommandWorkload& workload, const SeenOfProgram& seen) {
  workload.unread = unread_thread_variables(seen.runtimes);
  leave_out(workload, seen.inert);
}

std::unique_ptr<const Workload> make_user_command(UserCommandOptions options) {
  return std::make_unique<UserCommand>(std::move(options));
}

}  // namespace ocrtune
