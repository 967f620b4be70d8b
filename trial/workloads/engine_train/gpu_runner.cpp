// Ranks meet in a temporary folder. Each process sees one GPU, by UUID, whatever order the driver's
// numbers have.
#include "trial/workloads/engine_train/gpu_runner.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "probes/gpu/gpu_ids.h"
#include "probes/gpu/gpu_worker_program.h"
#include "probes/placement/partition.h"
#include "trial/workloads/engine_train/rank_plan.h"

namespace ocrtune {
namespace {

constexpr int kBucketKib = 4096;  // parts of the mean, where the workload names none

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

  TrialPlan plan_of(const Knobs& knobs, const std::vector<CpuSet>& masks,
                    const std::string& folder) const {
    // A rank's own thread only hands out kernels, yet spins on the GPU's answer.
    const RankPlanRequest request{workload_, cpu_, options_.worker_command, 1 + knobs.workers};
    TrialPlan plan =
        plan_ranks(request, knobs, masks, [&](int rank, WorkerSpec& spec, ProcessOptions& process) {
          spec.segment = folder;
          spec.gpu = options_.gpus[static_cast<std::size_t>(rank)];
          for (auto& variable : gpu_environment({0, -1, spec.gpu, ""}, GpuVendor::nvidia)) {
            process.environment.push_back(std::move(variable));
          }
        });
    plan.gpus.assign(options_.gpus.begin(), options_.gpus.begin() + knobs.nproc);
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
