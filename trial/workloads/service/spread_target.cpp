// Each part is asked in turn, without waiting and then for half a millisecond each, since targets
// cannot be polled together.
#include "trial/workloads/service/spread_target.h"

#include <algorithm>

#include "base/clock.h"

namespace ocrtune {
namespace {

constexpr double kTurnSeconds = 0.5e-3;  // as late as an answer may be noticed

}  // namespace

SpreadTarget::SpreadTarget(std::vector<std::unique_ptr<LoadTarget>> targets) {
  for (auto& target : targets) parts_.push_back({std::move(target), 0});
}

void SpreadTarget::start(std::uint64_t request, int kind) {
  const auto least =
      std::min_element(parts_.begin(), parts_.end(),
                       [](const Part& a, const Part& b) { return a.under_way < b.under_way; });
  ++least->under_way;
  least->target->start(request, kind);
}

void SpreadTarget::take(Part& part, double until_seconds, std::vector<Completion>& finished) const {
  const std::size_t before = finished.size();
  part.target->collect(until_seconds, finished);
  part.under_way -= std::min(part.under_way, finished.size() - before);
}

// Waits for one after the other, briefly.
void SpreadTarget::collect(double until_seconds, std::vector<Completion>& finished) {
  const std::size_t before = finished.size();
  for (Part& part : parts_) take(part, 0, finished);
  while (finished.size() == before) {
    for (Part& part : parts_) {
      const double now = steady_clock().now_seconds();
      if (now >= until_seconds) return;
      take(part, std::min(until_seconds, now + kTurnSeconds), finished);
    }
  }
}

std::string SpreadTarget::failure() const {
  for (const Part& part : parts_) {
    if (std::string why = part.target->failure(); !why.empty()) return why;
  }
  return {};
}

std::string SpreadTarget::ended() const {
  for (const Part& part : parts_) {
    if (std::string how = part.target->ended(); !how.empty()) return how;
  }
  return {};
}

}  // namespace ocrtune
