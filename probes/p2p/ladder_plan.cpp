#include "probes/p2p/ladder_plan.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace ocrtune {
namespace {

struct StepLimit {
  const char* kind;
  double deadline_seconds;  // contexts take up to a minute without persistence mode
  double planned_seconds, planned_seconds_a_device;
};
constexpr StepLimit kLimits[] = {{"devices", 60, 2, 0.5},
                                 {"copy", 90, 4, 0.5},
                                 {"handshake", 60, 2, 0.5},
                                 {"nccl", 120, 4, 0.75},
                                 {"soak", 240, 4, 0.75}};

const StepLimit& limit_of(const GpuStep& step) {
  const auto found = std::find_if(std::begin(kLimits), std::end(kLimits),
                                  [&](const StepLimit& limit) { return step.kind == limit.kind; });
  OCRTUNE_CHECK(found != std::end(kLimits));
  return *found;
}

}  // namespace

double usual_deadline_seconds(const GpuStep& step) { return limit_of(step).deadline_seconds; }

double planned_seconds(const GpuStep& step) {
  const StepLimit& limit = limit_of(step);
  return limit.planned_seconds +
         limit.planned_seconds_a_device * static_cast<double>(step.devices.size());
}

// The circle method: one stays, the others move on by a place each round.
std::vector<std::vector<std::pair<int, int>>> disjoint_rounds(int count) {
  const int places = count + count % 2;
  std::vector<std::vector<std::pair<int, int>>> rounds;
  for (int round = 0; round + 1 < places; ++round) {
    auto& pairs = rounds.emplace_back();
    for (int i = 0; i < places / 2; ++i) {
      const auto on_circle = [&](int place) {
        return place == 0 ? places - 1 : (round + place) % (places - 1);
      };
      const auto [a, b] = std::minmax({on_circle(i), on_circle(places - 1 - i)});
      if (b < count) pairs.emplace_back(a, b);
    }
    std::sort(pairs.begin(), pairs.end());
  }
  return rounds;
}

}  // namespace ocrtune
