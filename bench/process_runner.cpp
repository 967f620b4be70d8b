#include "bench/process_runner.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/process.h"
#include "base/text.h"
#include "bench/worker_spec.h"
#include "core/shm_comm.h"
#include "probes/partition.h"
#include "probes/rank_groups.h"

namespace ocrtune {
namespace {

constexpr int kOomScoreAdjust = 500;  // the kernel should take the trial, not the tuner or a login

// Sanitizers map terabytes, so they cannot run under a limit of writable memory.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kLimitWritableMemory = false;
#else
constexpr bool kLimitWritableMemory = true;
#endif

class ProcessRunner : public Runner {
 public:
  ProcessRunner(TrainingWorkload workload, const Machine& machine, ProcessRunnerOptions options)
      : workload_(std::move(workload)), cpu_(machine.cpu), options_(std::move(options)) {
    if (options_.worker_command.empty()) options_.worker_command = {own_program(), "worker"};
  }

  Trial run(const Knobs& knobs, const TrialLimits& limits) override {
    Trial trial;
    auto masks = partition_cpus(cpu_, knobs.nproc, knobs.threads, knobs.binding);
    if (!masks) {
      trial.outcome = Outcome::unsupported;
      trial.cause = "binding";
      trial.reason = masks.error().what;
    } else {
      const std::string segment = knobs.nproc > 1 ? new_segment_name() : "";
      trial = watch_trial(plan_of(knobs, limits, *masks, segment), limits);
      if (!segment.empty()) remove_segment(segment);
    }
    trial.knobs = knobs;
    trial.reproduce = reproduce_line(knobs, workload_);
    return trial;
  }

 private:
  TrialPlan plan_of(const Knobs& knobs, const TrialLimits& limits, const std::vector<CpuSet>& masks,
                    const std::string& segment) const {
    TrialPlan plan;
    const bool bound = knobs.binding != "none";
    const auto groups = common_groups(cpu_, masks);
    for (int rank = 0; rank < knobs.nproc; ++rank) {
      ProcessOptions process;
      process.arguments = options_.worker_command;
      WorkerSpec spec = rank_spec(workload_, knobs, rank);
      spec.segment = segment;
      if (bound) spec.groups = groups[static_cast<std::size_t>(rank)];
      process.arguments.insert(process.arguments.end(), {"--spec", spec_text(spec)});
      for (const auto& [name, value] : knob_environment(knobs)) {
        process.environment.emplace_back(name, value);
      }
      if (bound) process.cpus = masks[static_cast<std::size_t>(rank)];
      process.oom_score_adjust = kOomScoreAdjust;
      if (kLimitWritableMemory) process.data_limit_bytes = limits.memory_limit_bytes;
      plan.processes.push_back(std::move(process));
    }
    if (bound) plan.masks = masks;
    plan.threads = knobs.threads;
    plan.demand.threads = static_cast<double>(knobs.nproc) * (knobs.threads + knobs.workers);
    plan.demand.cpus = cpu_.usable_cpus.value_or(std::max(1, cpu_.allowed.count()));
    plan.silence = options_.silence;
    plan.stop_grace_seconds = options_.stop_grace_seconds;
    return plan;
  }

  TrainingWorkload workload_;
  CpuFacts cpu_;
  ProcessRunnerOptions options_;
};

}  // namespace

std::unique_ptr<Runner> make_process_runner(const TrainingWorkload& workload,
                                            const Machine& machine,
                                            const ProcessRunnerOptions& options) {
  return std::make_unique<ProcessRunner>(workload, machine, options);
}

WorkerSpec rank_spec(const TrainingWorkload& workload, const Knobs& knobs, int rank) {
  WorkerSpec spec;
  spec.model = workload.model;
  spec.backend = knobs.backend;
  spec.precision = knobs.precision;
  spec.threads = knobs.threads;
  spec.batch = knobs.batch;
  spec.height = workload.height;
  spec.width = workload.width;
  spec.heights = workload.heights;
  spec.width_buckets = workload.width_buckets;
  spec.queue_depth = workload.queue_depth;
  spec.bucket_kib = workload.bucket_kib;
  spec.classes = workload.classes;
  spec.learning_rate = workload.learning_rate;
  spec.seed = workload.seed;
  spec.label_file = workload.label_file;
  spec.alphabet = workload.alphabet;
  spec.loader_workers = knobs.workers;
  spec.place = {rank, knobs.nproc, rank, knobs.nproc, 0, 1};
  return spec;
}

std::string reproduce_line(const Knobs& knobs, const TrainingWorkload& workload) {
  std::vector<std::string> line = {"ocrtune", "worker"};
  for (const auto& [name, text] : knob_texts(knobs)) line.push_back(name + "=" + text);
  const TrainingWorkload defaults;
  const auto add = [&](const char* flag, const std::string& value, const std::string& usual) {
    if (value != usual) line.insert(line.end(), {flag, value});
  };
  add("--model", workload.model, defaults.model);
  add("--data", workload.label_file, "");
  add("--alphabet", workload.alphabet, "");
  add("--height", fmt::format("{}", workload.height), fmt::format("{}", defaults.height));
  add("--width", fmt::format("{}", workload.width), fmt::format("{}", defaults.width));
  add("--heights", fmt::format("{}", fmt::join(workload.heights, ",")), "");
  add("--width-buckets", fmt::format("{}", workload.width_buckets), "0");
  add("--queue-depth", fmt::format("{}", workload.queue_depth),
      fmt::format("{}", defaults.queue_depth));
  add("--bucket-kib", fmt::format("{}", workload.bucket_kib), "0");
  add("--classes", fmt::format("{}", workload.classes), fmt::format("{}", defaults.classes));
  add("--seed", fmt::format("{}", workload.seed), fmt::format("{}", defaults.seed));
  return shell_join(line);
}

}  // namespace ocrtune
