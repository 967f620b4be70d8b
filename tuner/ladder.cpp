#include "tuner/ladder.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ocrtune {
namespace {

double doublings(double from, double to) { return std::fabs(std::log2(to / from)); }

}  // namespace

Ladder::Ladder(const Space& space, double cores) : space_(&space) {
  double least = 1e9;
  double most = 1;
  for (const Knobs& knobs : space.points()) {
    least = std::min(least, static_cast<double>(knobs.batch));
    most = std::max(most, static_cast<double>(knobs.batch));
  }
  const double middle = std::sqrt(least * most);
  const double c = std::max(1.0, cores);
  rungs_ = {
      {1, 1, least, 0, 0, "the lightest setting: what one process needs"},
      {std::max(1.0, c / 4), std::min(4.0, c), middle, 1, 0, "all cores, four threads each"},
      {std::max(1.0, c / 2), std::min(2.0, c), 2 * middle, 2, 1, "more processes, larger batch"},
      {std::max(1.0, c / 8), std::min(8.0, c), most, 2, 2, "fewer processes, largest batch"},
      {c, 1, middle, 1, 1, "one process a core"},
      {std::max(1.0, c / 4), std::min(2.0, c), middle, 4, 2, "half of the cores, many loaders"},
      {std::max(1.0, c / 4), std::min(6.0, c), middle / 2, 0, 1, "more threads than cores"},
      {2, c / 2, middle, 2, 0, "two large processes"},
  };
}

double Ladder::distance(const Rung& rung, int point) const {
  const Knobs& knobs = space_->knobs(point);
  double distance = doublings(rung.n, knobs.nproc) + doublings(rung.t, knobs.threads);
  distance += doublings(rung.n * rung.t, static_cast<double>(knobs.nproc) * knobs.threads);
  distance += doublings(rung.b, knobs.batch) + 0.5 * doublings(rung.w + 1, knobs.workers + 1.0);
  for (std::size_t a = 0; a < space_->axes().size(); ++a) {
    const Axis& axis = space_->axes()[a];
    const auto value = static_cast<std::size_t>(space_->place(point)[a]);
    if (axis.scale == KnobScale::category) {
      const std::size_t wanted = (rung.category * (a + 1)) % axis.values.size();
      distance += value == wanted ? 0 : 2.5;
    } else if (find_knob(axis.name) == nullptr) {
      const double last = static_cast<double>(axis.values.size()) - 1;
      const double wanted = last * 0.5 * static_cast<double>(1 + (rung.category * a) % 3 - 1);
      distance += std::fabs(static_cast<double>(value) - wanted) / last;
    }
  }
  return distance;
}

std::optional<int> Ladder::next(const std::function<bool(int)>& admitted) {
  while (step_ < static_cast<int>(rungs_.size())) {
    const Rung& rung = rungs_[static_cast<std::size_t>(step_++)];
    int best = -1;
    double least = std::numeric_limits<double>::max();
    for (int point = 0; point < space_->size(); ++point) {
      const double away = distance(rung, point);
      if (away >= least || !admitted(point)) continue;
      least = away;
      best = point;
    }
    if (best < 0) continue;
    why_ = rung.why;
    return best;
  }
  return std::nullopt;
}

}  // namespace ocrtune
