// Ranks meet in a segment of /dev/shm, whose name is new for each trial. The memory limit is also
// given to the kernel (RLIMIT_DATA), so that a rank fails in its own words before the guard ends
// it.
#include "trial/workloads/engine_train/process_runner.h"

#include <utility>

#include "base/process.h"
#include "core/comm/shm_comm.h"
#include "probes/placement/partition.h"
#include "trial/observe/shm_leftovers.h"
#include "trial/workloads/engine_train/rank_plan.h"

namespace ocrtune {
namespace {

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
      // Those of launches that were killed while their ranks met.
      if (knobs.nproc > 1) remove_orphaned_segments();
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
    const RankPlanRequest request{workload_, cpu_, options_.worker_command,
                                  knobs.threads + knobs.workers};
    const RankAdjust adjust = [&](int /*rank*/, WorkerSpec& spec, ProcessOptions& process) {
      spec.segment = segment;
      if (kLimitWritableMemory) process.data_limit_bytes = limits.memory_limit_bytes;
    };
    TrialPlan plan = plan_ranks(request, knobs, masks, adjust);
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

}  // namespace ocrtune
