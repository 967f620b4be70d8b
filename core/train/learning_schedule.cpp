// The rate is a closed form of the step; nothing is kept between steps.
#include "core/train/learning_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/core.h>

#include "base/text.h"

namespace ocrtune {

double LearningSchedule::rate_at(std::int64_t done) const {
  if (done < warm_up_steps) {
    return peak * static_cast<double>(done + 1) / static_cast<double>(warm_up_steps);
  }
  if (shape != "cosine") return peak;
  if (done >= steps) return 0;
  const double way =
      static_cast<double>(done - warm_up_steps) / static_cast<double>(steps - warm_up_steps);
  return peak * 0.5 * (1 + std::cos(std::numbers::pi * way));
}

const std::vector<std::string>& learning_schedule_names() {
  static const std::vector<std::string> names = {"constant", "cosine"};
  return names;
}

Status check_schedule(const LearningSchedule& schedule) {
  const auto& names = learning_schedule_names();
  if (std::find(names.begin(), names.end(), schedule.shape) == names.end()) {
    const std::string near = nearest_name(schedule.shape, names);
    return Error{ErrorKind::usage, near.empty()
                                       ? fmt::format("learning rate schedule {}: there is {}",
                                                     schedule.shape, join(names, ", "))
                                       : fmt::format("learning rate schedule {}: did you mean {}?",
                                                     schedule.shape, near)};
  }
  if (!(schedule.peak > 0) || !std::isfinite(schedule.peak)) {
    return Error{ErrorKind::usage,
                 fmt::format("learning rate {} is no positive number", schedule.peak)};
  }
  if (schedule.warm_up_steps < 0) {
    return Error{ErrorKind::usage,
                 fmt::format("a warm-up of {} steps makes no sense", schedule.warm_up_steps)};
  }
  if (schedule.shape == "cosine" && schedule.steps <= schedule.warm_up_steps) {
    return Error{ErrorKind::usage,
                 fmt::format("schedule cosine over {} steps, {} of them warm-up, has no step left "
                             "to fall in: more steps or a shorter warm-up",
                             schedule.steps, schedule.warm_up_steps)};
  }
  return Status();
}

}  // namespace ocrtune
