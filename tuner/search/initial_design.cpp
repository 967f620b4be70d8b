// Wishes, in doublings of the cores and of the batch, and for each the admitted point that is
// nearest. So one list serves spaces of any size and with any axes.
#include "tuner/search/initial_design.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ocrtune {
namespace {

double doublings_between(double from, double to) { return std::fabs(std::log2(to / from)); }

// The value of the `which`-th switch on a step: all the first at the bottom, then so that
// pairs of values of two switches meet.
std::size_t turn(std::size_t step, std::size_t which, std::size_t values) {
  return (step + which * (step / values)) % values;
}

}  // namespace

std::vector<int> cpu_shares(const Space& space, const Knobs& own, int cpus) {
  std::vector<int> counts = {cpus};
  for (int n = 1; n <= cpus; n *= 2) {
    if (n * n >= cpus && n < cpus) {
      // The square root of the CPUs, rounded up to a power of two.
      counts.push_back(n);  // halfway
      break;
    }
  }
  counts.push_back(1);
  for (int n = cpus / 2; n > 1; n /= 2) counts.push_back(n);
  const auto distance = [&](const Knobs& knobs, int n) {
    if (knobs.nproc != n) return std::numeric_limits<double>::max();
    // All CPUs in use matters most; then words as the user has them, then batch and loaders
    // (guesses).
    double away = 8 * doublings_between(cpus, static_cast<double>(knobs.nproc) * knobs.threads) +
                  doublings_between(own.batch, knobs.batch) +
                  doublings_between(own.workers + 1.0, knobs.workers + 1.0);
    for (const auto& [name, text] : knob_texts(knobs)) {
      const KnobRow* row = find_knob(name);
      const bool word = row == nullptr || row->scale == KnobScale::category;
      away += word && text != knob_text(own, name) ? 4 : 0;
    }
    return away;
  };
  std::vector<int> shares;
  for (const int n : counts) {
    int best = -1;
    double least = std::numeric_limits<double>::max();
    for (int point = 0; point < space.size(); ++point) {
      const double away = distance(space.knobs(point), n);
      if (away >= least) continue;
      least = away;
      best = point;
    }
    const bool known = std::find(shares.begin(), shares.end(), best) != shares.end();
    if (best >= 0 && !known && !(space.knobs(best) == own)) shares.push_back(best);
  }
  return shares;
}

InitialDesign::InitialDesign(const Space& space, double cores) : space_(&space) {
  double least = 1e9;
  double most = 1;
  for (const Knobs& knobs : space.points()) {
    least = std::min(least, static_cast<double>(knobs.batch));
    most = std::max(most, static_cast<double>(knobs.batch));
  }
  // In doublings.
  const double middle = std::sqrt(least * most);
  const double c = std::max(1.0, cores);
  steps_ = {
      {1, 1, least, 0, "the lightest setting: what one process needs"},
      {std::max(1.0, c / 4), std::min(4.0, c), middle, 1, "all cores, four threads each"},
      {std::max(1.0, c / 2), std::min(2.0, c), 2 * middle, 2, "more processes, larger batch"},
      {std::max(1.0, c / 8), std::min(8.0, c), most, 2, "fewer processes, largest batch"},
      {c, 1, middle, 1, "one process a core"},
      {std::max(1.0, c / 4), std::min(2.0, c), middle, 4, "half of the cores, many loaders"},
      {std::max(1.0, c / 4), std::min(6.0, c), middle / 2, 0, "more threads than cores"},
      {2, c / 2, middle, 2, "two large processes"},
  };
}

double InitialDesign::distance(std::size_t step, int point) const {
  const DesignStep& design_step = steps_[step];
  const Knobs& knobs = space_->knobs(point);
  double distance = doublings_between(design_step.n, knobs.nproc) +
                    doublings_between(design_step.t, knobs.threads);
  distance += doublings_between(design_step.n * design_step.t,
                                static_cast<double>(knobs.nproc) * knobs.threads);
  distance += doublings_between(design_step.b, knobs.batch) +
              0.5 * doublings_between(design_step.w + 1, knobs.workers + 1.0);
  std::size_t switches = 0;  // axes that the design steps' four numbers leave open, so far
  for (std::size_t a = 0; a < space_->axes().size(); ++a) {
    const Axis& axis = space_->axes()[a];
    const auto value = static_cast<std::size_t>(space_->place(point)[a]);
    if (axis.scale == KnobScale::category) {
      // A wrong word costs as much as 2.5 doublings (guess).
      distance += value == turn(step, switches++, axis.values.size()) ? 0 : 2.5;
    } else if (find_knob(axis.name) == nullptr) {
      const double last = static_cast<double>(axis.values.size()) - 1;
      const double wanted = 0.5 * last * static_cast<double>(turn(step, switches++, 3));
      distance += std::fabs(static_cast<double>(value) - wanted) / last;
    }
  }
  return distance;
}

std::optional<int> InitialDesign::next(const std::function<bool(int)>& admitted) {
  while (step_ < static_cast<int>(steps_.size())) {
    const auto design_step = static_cast<std::size_t>(step_++);
    int best = -1;
    double least = std::numeric_limits<double>::max();
    for (int point = 0; point < space_->size(); ++point) {
      const double away = distance(design_step, point);
      if (away >= least || !admitted(point)) continue;
      least = away;
      best = point;
    }
    if (best < 0) continue;
    why_ = steps_[design_step].why;
    return best;
  }
  return std::nullopt;
}

}  // namespace ocrtune
