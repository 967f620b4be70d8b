#include "trial/workloads/service/kind_draw.h"

#include <algorithm>

namespace ocrtune {

KindDraw::KindDraw(const std::vector<double>& weights, std::uint64_t seed) : random_(seed) {
  double sum = 0;
  for (const double weight : weights) upper_.push_back(sum += std::max(weight, 0.0));
}

int KindDraw::next() {
  if (upper_.size() < 2) return 0;
  const double place = random_.uniform() * upper_.back();
  const auto kind = std::upper_bound(upper_.begin(), upper_.end() - 1, place);
  return static_cast<int>(kind - upper_.begin());
}

}  // namespace ocrtune
