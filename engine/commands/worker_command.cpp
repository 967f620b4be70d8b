// ocrtune worker: the measured process of a trial (--spec), or one whole trial of given knobs.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"
#include "cli/commands/engine_flags.h"
#include "core/data/samples.h"
#include "core/data/width_buckets.h"
#include "engine/commands/engine_commands.h"
#include "probes/probe.h"
#include "trial/ipc/events.h"
#include "trial/workloads/engine_train/gpu_runner.h"
#include "trial/workloads/engine_train/process_runner.h"
#include "trial/workloads/engine_train/worker.h"
#include "tuner/space/device_choice.h"
#include "tuner/space/space.h"

namespace ocrtune {
namespace {

struct WorkerFlags {
  std::string spec;
  std::vector<std::string> knobs;
  TrainingWorkload workload;
  std::string seconds = "1.5s", timeout = "60s", memory;
  DeviceRequest device;
  bool json = false;
};

Result<int> run_rank(const std::string& text) {
  const auto spec = OCRTUNE_TRY(parse_spec(text));
  int descriptor = STDOUT_FILENO;  // run by hand, the events are the output
  const char* given = std::getenv(kEventDescriptorVariable);
  if (given != nullptr) {
    const auto number = parse_integer(given);
    if (!number || *number < 0) {
      return Error{ErrorKind::usage, std::string(kEventDescriptorVariable) + ": " + given};
    }
    descriptor = static_cast<int>(*number);
  }
  return run_worker(spec, descriptor) ? kExitOk : kExitNegative;
}

void print_trial(const Trial& trial) {
  std::printf("%s: %s", knobs_text(trial.knobs).c_str(), outcome_name(trial.outcome).data());
  if (trial.ok()) std::printf(", %.4g samples/s", trial.samples_per_second);
  if (!trial.cause.empty()) std::printf(" (%s)", trial.cause.c_str());
  if (!trial.reason.empty()) std::printf(": %s", trial.reason.c_str());
  std::printf("\nwall %s, first step after %s, peak %s, CPUs %s\n",
              format_duration(trial.seconds).c_str(), format_duration(trial.start_seconds).c_str(),
              format_bytes(trial.peak_bytes).c_str(), trial.placement.c_str());
  for (const Sample& sample : trial.samples) {
    std::printf("  %8.4g/s over %s: data %s, compute %s, all-reduce %s, wait %s%s%s\n",
                sample.samples_per_second(), format_duration(sample.seconds).c_str(),
                format_duration(sample.step.data_seconds).c_str(),
                format_duration(sample.step.compute_seconds).c_str(),
                format_duration(sample.step.all_reduce_seconds).c_str(),
                format_duration(sample.step.wait_seconds).c_str(),
                sample.clean() ? "" : "; discarded: ", sample.interference.spoilt_by.c_str());
  }
  for (const std::string& line : trial.evidence) std::printf("  %s\n", line.c_str());
  if (!trial.ok() && !trial.log_tail.empty()) std::printf("%s\n", trial.log_tail.c_str());
}

void print_json(const Trial& trial) {
  double measured = 0;
  int discarded = 0;
  for (const Sample& sample : trial.samples) {
    measured += sample.seconds;
    discarded += sample.clean() ? 0 : 1;
  }
  const nlohmann::json object = {{"knobs", knobs_text(trial.knobs)},
                                 {"outcome", outcome_name(trial.outcome)},
                                 {"cause", trial.cause},
                                 {"reason", valid_utf8(trial.reason)},
                                 {"samples_per_second", trial.samples_per_second},
                                 {"samples", trial.samples.size()},
                                 {"spoilt_samples", discarded},
                                 {"measured_seconds", measured},
                                 {"start_seconds", trial.start_seconds},
                                 {"seconds", trial.seconds},
                                 {"peak_bytes", trial.peak_bytes},
                                 {"placement", trial.placement},
                                 {"evidence", trial.evidence}};
  std::printf("%s\n", object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

Result<std::unique_ptr<Runner>> runner_of(const WorkerFlags& flags, const Knobs& knobs,
                                          const Machine& machine) {
  if (knobs.backend != "cuda") {
    if (flags.device.gpus.empty()) return make_process_runner(flags.workload, machine);
    return Error{ErrorKind::usage, "--gpus: needs backend=cuda"};
  }
  DeviceRequest request = flags.device;
  request.device = "gpu";
  const auto choice = OCRTUNE_TRY(choose_device(request, machine, process_environment()));
  GpuRunnerOptions options;
  for (const VisibleGpu& gpu : choice.gpus) options.gpus.push_back(gpu.uuid);
  return make_gpu_runner(flags.workload, machine, options);
}

Result<int> run_trial(WorkerFlags flags) {
  const auto knobs = OCRTUNE_TRY(parse_knobs(flags.knobs));
  OCRTUNE_TRY(check_knob_names(knobs, {}, {}));
  if (flags.workload.width_buckets > 0 && flags.workload.label_file.empty()) {
    return Error{ErrorKind::usage, "--width-buckets needs the lines of --data"};
  }
  const auto seconds = OCRTUNE_TRY(parse_duration(flags.seconds));
  const auto timeout = OCRTUNE_TRY(parse_duration(flags.timeout));
  TrialLimits limits;
  limits.measure_seconds = seconds;
  limits.max_seconds = timeout;
  if (!flags.memory.empty()) limits.memory_limit_bytes = OCRTUNE_TRY(parse_bytes(flags.memory));
  TrainingWorkload& workload = flags.workload;
  workload.label_file = samples_path(workload.label_file);
  ProbeOptions probe;
  probe.quick = true;
  const auto machine = OCRTUNE_TRY(probe_machine(probe));
  auto runner = OCRTUNE_TRY(runner_of(flags, knobs, machine));
  const Trial trial = runner->run(knobs, limits);
  flags.json ? print_json(trial) : print_trial(trial);
  if (trial.cause == "interrupted") {
    return Error{ErrorKind::interrupted, "interrupted"};
  }
  return trial.ok() ? kExitOk : kExitNegative;
}

}  // namespace

CommandRun declare_worker(Flags& cli) {
  auto flags = std::make_shared<WorkerFlags>();
  TrainingWorkload& workload = flags->workload;
  cli.argument("knobs", flags->knobs, "Setting to measure: nproc=2 threads=1 batch=16 ...")
      .from_list("knobs");
  cli.option("--spec", flags->spec, "JSON",
             "Be one rank with these orders; the tuner starts these");
  cli.option("--model", workload.model, "MODEL", "Train this model").from_list("models");
  cli.option("--data", workload.label_file, "DATA", "Label file, or a folder with labels.txt")
      .default_text("one drawn batch")
      .file();
  cli.option("--alphabet", workload.alphabet, "CHARACTERS", "Characters of the labels")
      .default_text("those of the label file");
  cli.option("--height", workload.height, "PIXELS", "Scale lines to this height").range(8, 4096);
  cli.option("--width", workload.width, "PIXELS", "Squeeze lines that are wider than this")
      .range(8, 16384);
  declare_batch_flags(cli, {workload.heights, workload.width_buckets, workload.queue_depth}, 8,
                      4096);
  cli.option("--bucket-kib", workload.bucket_kib, "KIB",
             "Average gradients in parts of this size during backward; 0: all after it")
      .range(0, 1 << 20);
  cli.option("--classes", workload.classes, "N", "Number of classes of drawn batches")
      .range(2, 100'000);
  cli.option("--seed", workload.seed, "N", "Seed of the weights and of the order");
  cli.option("--seconds", flags->seconds, "DURATION", "Measuring time");
  cli.option("--timeout", flags->timeout, "DURATION", "Stop the whole trial after this time");
  cli.option("--gpus", flags->device.gpus, "IDS",
             "Compute on these GPUs, with backend=cuda: all, 0,2 as this process sees them, or "
             "UUIDs");
  cli.option("--memory", flags->memory, "SIZE", "Stop the trial before it takes more: 8G");
  cli.json(flags->json);
  return [flags] { return flags->spec.empty() ? run_trial(*flags) : run_rank(flags->spec); };
}

}  // namespace ocrtune
