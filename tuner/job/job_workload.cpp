// Three kinds hold a command: the search tells it which knobs it turns, which are fixed, and what
// the present setting is. The built-in engine takes its job as it is.
#include "tuner/job/job_workload.h"

#include <algorithm>
#include <utility>

#include "trial/workloads/engine_infer/engine_inference.h"
#include "trial/workloads/engine_infer/user_service.h"

namespace ocrtune {
namespace {

// A knob that the user pins to the value of the start is to be set there as well.
bool asked_to_set(const SearchRequest& search) {
  return std::any_of(search.axes.begin(), search.axes.end(), [&](const auto& axis) {
    const auto& [name, values] = axis;
    return search.lists(name) && values.size() == 1 &&
           values[0] == knob_text(search.baseline, name);
  });
}

}  // namespace

std::unique_ptr<const Workload> workload_of(const Job& job, const SearchRequest& search) {
  if (const auto* trains = std::get_if<TrainingJob>(&job.kind)) {
    return make_engine_training(trains->engine);
  }
  if (job.prints()) return make_user_command(user_command(job, search));
  InferenceWorkload inference = job.requests();
  // Answers of other settings are compared with those of this one.
  inference.present = search.baseline;
  if (const auto* reads = std::get_if<ReadingJob>(&job.kind)) {
    return make_engine_inference(std::move(inference), reads->classes);
  }
  return make_user_service(std::move(inference), user_command(job, search));
}

CommandWorkload command_workload(const Job& job, const SearchRequest& search) {
  CommandWorkload workload = job.program();
  workload.serves = job.serves();
  workload.present = search.baseline;
  // The baseline was read from the command itself: run as typed, it is that setting already.
  workload.as_typed = search.baseline_source == kBaselineRead && !asked_to_set(search);
  for (const auto& [name, values] : search.axes) {
    if (search.lists(name)) workload.knobs.push_back(name);
    if (values.size() == 1) workload.fixed.push_back(name);
  }
  // Once a command is settled, what it does not turn is pinned: a knob without values has ours.
  for (const KnobRow& row : knob_table()) {
    if (search.axes.count(row.name) == 0) workload.knobs.emplace_back(row.name);
  }
  return workload;
}

UserCommandOptions user_command(const Job& job, const SearchRequest& search) {
  UserCommandOptions user;
  if (const UserCommandOptions* own = job.user()) user = *own;
  user.command = command_workload(job, search);
  user.trains = !job.infers();
  user.batch = search.baseline.batch;
  return user;
}

}  // namespace ocrtune
