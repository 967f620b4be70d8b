// What training on CPUs and on GPUs share, so that a trial of either is planned in the same way.
#include "trial/workloads/engine_train/rank_plan.h"

#include <algorithm>
#include <utility>

#include "trial/malloc_environment.h"

namespace ocrtune {
namespace {

constexpr int kOomScoreAdjust = 500;  // the kernel should take the trial, not the tuner or a login

}  // namespace

TrialPlan plan_ranks(const RankPlanRequest& request, const Knobs& knobs,
                     const std::vector<CpuSet>& masks, const RankAdjust& adjust) {
  TrialPlan plan;
  const bool bound = knobs.binding != "none";
  for (int rank = 0; rank < knobs.nproc; ++rank) {
    WorkerSpec spec = rank_spec(request.workload, knobs, rank);
    ProcessOptions process;
    for (const auto& [name, value] : knob_environment(knobs)) {
      process.environment.emplace_back(name, value);
    }
    // The mask holds from the first instruction on, before any thread exists.
    if (bound) process.cpus = masks[static_cast<std::size_t>(rank)];
    process.oom_score_adjust = kOomScoreAdjust;
    adjust(rank, spec, process);
    process.arguments = request.worker_command;
    process.arguments.insert(process.arguments.end(), {"--spec", spec_text(spec)});
    plan.processes.push_back(std::move(process));
  }
  if (bound) plan.masks = masks;
  plan.preload = preload_of(knobs.malloc);
  plan.threads = knobs.threads;
  if (request.workload.learning.watches) {
    plan.learning_batch = std::int64_t{1} * knobs.nproc * knobs.batch * knobs.accumulate;
  }
  plan.demand.threads = static_cast<double>(knobs.nproc) * request.threads_per_rank;
  plan.demand.cpus = request.cpu.usable_cpus.value_or(std::max(1, request.cpu.allowed.count()));
  return plan;
}

}  // namespace ocrtune
