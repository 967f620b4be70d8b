#include "bench/gpu_runner.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "bench/worker_spec.h"
#include "probes/gpu_ids.h"
#include "probes/gpu_worker_program.h"
#include "probes/partition.h"

namespace ocrtune {
namespace {

constexpr int kOomScoreAdjust = 500;  // the kernel should take the trial, not the tuner or a login
constexpr int kBucketKib = 4096;      // parts of the mean, where the workload names none

class GpuRunner : public Runner {
 public:
  GpuRunner(TrainingWorkload workload, const Machine& machine, GpuRunnerOptions options)
      : workload_(std::move(workload)), cpu_(machine.cpu), options_(std::move(options)) {
    if (options_.worker_command.empty()) {
      options_.worker_command = {gpu_worker_program("", process_environment()), "train"};
    }
    if (workload_.bucket_kib == 0) workload_.bucket_kib = kBucketKib;
  }

  Trial run(const Knobs& knobs, const TrialLimits& limits) override {
    Trial trial;
    const Status fits = check(knobs);
    auto masks = partition_cpus(cpu_, knobs.nproc, knobs.threads, knobs.binding);
    const auto folder = make_temporary_directory("ranks");
    if (!fits || !masks || !folder) {
      trial.outcome = Outcome::unsupported;
      trial.cause = !fits ? "gpus" : !masks ? "binding" : "setting";
      trial.reason = (!fits    ? fits
                      : !masks ? Status(masks.error())
                               : Status(folder.error()))
                         .error()
                         .what;
    } else {
      trial = watch_trial(plan_of(knobs, *masks, *folder), limits);
    }
    if (folder) static_cast<void>(remove_tree(*folder));
    trial.knobs = knobs;
    trial.reproduce = reproduce_line(knobs, workload_) + " --gpus " + join(options_.gpus, ",");
    return trial;
  }

 private:
  Status check(const Knobs& knobs) const {
    const std::set<std::string> distinct(options_.gpus.begin(), options_.gpus.end());
    if (options_.gpus.empty() || distinct.size() != options_.gpus.size()) {
      return Error{ErrorKind::usage, options_.gpus.empty()
                                         ? "no GPU was named"
                                         : "a GPU is named twice: two ranks would share it"};
    }
    if (static_cast<std::size_t>(knobs.nproc) > options_.gpus.size()) {
      return Error{ErrorKind::usage,
                   fmt::format("{} ranks on {} GPU{}: each rank takes one for itself", knobs.nproc,
                               options_.gpus.size(), options_.gpus.size() == 1 ? "" : "s")};
    }
    return Status();
  }

  ProcessOptions rank_process(const Knobs& knobs, int rank, const std::string& folder) const {
    const std::string& gpu = options_.gpus[static_cast<std::size_t>(rank)];
    WorkerSpec spec = rank_spec(workload_, knobs, rank);
    spec.segment = folder;
    spec.gpu = gpu;
    ProcessOptions process;
    process.arguments = options_.worker_command;
    process.arguments.insert(process.arguments.end(), {"--spec", spec_text(spec)});
    for (const auto& [name, value] : knob_environment(knobs)) {
      process.environment.emplace_back(name, value);
    }
    for (auto& variable : gpu_environment({0, -1, gpu, ""}, GpuVendor::nvidia)) {
      process.environment.push_back(std::move(variable));
    }
    process.oom_score_adjust = kOomScoreAdjust;
    return process;
  }

  TrialPlan plan_of(const Knobs& knobs, const std::vector<CpuSet>& masks,
                    const std::string& folder) const {
    TrialPlan plan;
    const bool bound = knobs.binding != "none";
    for (int rank = 0; rank < knobs.nproc; ++rank) {
      plan.processes.push_back(rank_process(knobs, rank, folder));
      if (bound) plan.processes.back().cpus = masks[static_cast<std::size_t>(rank)];
      plan.gpus.push_back(options_.gpus[static_cast<std::size_t>(rank)]);
    }
    if (bound) plan.masks = masks;
    plan.threads = knobs.threads;
    // A rank's own thread only hands out kernels, yet spins on the GPU's answer.
    plan.demand.threads = static_cast<double>(knobs.nproc) * (1 + knobs.workers);
    plan.demand.cpus = cpu_.usable_cpus.value_or(std::max(1, cpu_.allowed.count()));
    plan.silence = options_.silence;
    plan.stop_grace_seconds = options_.stop_grace_seconds;
    return plan;
  }

  TrainingWorkload workload_;
  CpuFacts cpu_;
  GpuRunnerOptions options_;
};

}  // namespace

std::unique_ptr<Runner> make_gpu_runner(const TrainingWorkload& workload, const Machine& machine,
                                        const GpuRunnerOptions& options) {
  return std::make_unique<GpuRunner>(workload, machine, options);
}

}  // namespace ocrtune
