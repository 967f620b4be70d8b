// Works on the stored step times alone: nothing is measured or fitted here. A part is assumed to
// end without anything else becoming slower, hence the upper bounds.
#include "reports/figures/bottleneck.h"

#include <algorithm>

namespace ocrtune {
namespace {

double total(const StepTimes& step) {
  return step.data_seconds + step.compute_seconds + step.all_reduce_seconds + step.wait_seconds;
}

double ceiling(double rate, double whole, double part) {
  // A step that consists of this part alone has no bound: 0 stands for it.
  return part >= whole ? 0 : rate * whole / (whole - part);
}

}  // namespace

double Bottleneck::step_seconds() const { return total(step); }

StepTimes mean_step(const std::vector<Trial>& trials, const Knobs& knobs) {
  StepTimes sum;
  double steps = 0;
  for (const Trial& trial : trials) {
    if (!trial.ok() || trial.knobs != knobs) continue;
    for (const Sample& sample : trial.samples) {
      if (!sample.clean() || total(sample.step) <= 0) continue;
      // A window's times are those of its mean step, so a window counts by its steps.
      const double weight = std::max<double>(static_cast<double>(sample.steps), 1);
      sum.data_seconds += weight * sample.step.data_seconds;
      sum.compute_seconds += weight * sample.step.compute_seconds;
      sum.all_reduce_seconds += weight * sample.step.all_reduce_seconds;
      sum.wait_seconds += weight * sample.step.wait_seconds;
      steps += weight;
    }
  }
  if (steps == 0) return {};
  return {sum.data_seconds / steps, sum.compute_seconds / steps, sum.all_reduce_seconds / steps,
          sum.wait_seconds / steps};
}

std::vector<Bottleneck> bottlenecks(const RunRecord& run) {
  std::vector<Bottleneck> found;
  if (run.job.infers()) return found;  // lines come in chunks, which have no parts
  const auto add = [&](const std::string& role, const Knobs& knobs, double rate) {
    const bool known = std::any_of(found.begin(), found.end(),
                                   [&](const Bottleneck& other) { return other.knobs == knobs; });
    if (known || rate <= 0) return;
    Bottleneck bottleneck{role, knobs, rate, mean_step(run.trials, knobs)};
    const StepTimes& step = bottleneck.step;
    const double whole = total(step);
    if (whole <= 0) return;
    bottleneck.ceiling_without_data = ceiling(rate, whole, step.data_seconds);
    bottleneck.ceiling_without_all_reduce = ceiling(rate, whole, step.all_reduce_seconds);
    bottleneck.ceiling_without_wait = ceiling(rate, whole, step.wait_seconds);
    found.push_back(bottleneck);
  };
  const TuneResult& result = run.result;
  if (result.found) {
    add("recommended", result.recommendation.knobs,
        result.recommendation.samples_per_second.median);
  }
  add("baseline", result.baseline.knobs, result.baseline.samples_per_second.median);
  for (const RuleVerdict& rule : result.rules) {
    add(rule.name, rule.setting.knobs, rule.setting.samples_per_second.median);
  }
  // What a command's lines do not part is all called computing.
  const bool parted = std::any_of(found.begin(), found.end(), [](const Bottleneck& one) {
    return one.step.compute_seconds < one.step_seconds();
  });
  if (run.job.prints() && !parted) found.clear();
  return found;
}

}  // namespace ocrtune
