// Which kind of request comes next: drawn by weight.
#pragma once

#include <vector>

#include "base/random.h"

namespace ocrtune {

class KindDraw {
 public:
  KindDraw(const std::vector<double>& weights, std::uint64_t seed);
  int next();  // 0 with fewer than two weights

 private:
  std::vector<double> upper_;  // running sums
  Random random_;
};

}  // namespace ocrtune
