// Gradients of a function of several tensors by central differences in double.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

namespace ocrtune {

using Doubles = std::vector<double>;

// The largest difference between `gradients` and (f(x + e) - f(x - e)) / 2e, relative to the
// largest gradient, over all numbers of all tensors.
inline double central_difference_error(
    std::vector<Doubles> tensors, const std::vector<Doubles>& gradients,
    const std::function<double(const std::vector<Doubles>&)>& function, double step = 1e-5) {
  double most = 0, difference = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    for (std::size_t j = 0; j < tensors[i].size(); ++j) {
      const double value = tensors[i][j];
      tensors[i][j] = value + step;
      const double above = function(tensors);
      tensors[i][j] = value - step;
      const double below = function(tensors);
      tensors[i][j] = value;
      const double slope = (above - below) / (2 * step);
      most = std::max(most, std::fabs(slope));
      difference = std::max(difference, std::fabs(slope - gradients[i][j]));
    }
  }
  return difference / most;
}

inline double dot(const Doubles& a, const Doubles& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace ocrtune
