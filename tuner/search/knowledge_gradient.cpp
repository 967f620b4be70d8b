#include "tuner/search/knowledge_gradient.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

namespace ocrtune {
namespace {

struct Line {
  double mean = 0;
  double slope = 0;
};

double density(double z) { return std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi); }
double normal_share_below(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

// E[max(0, Z - z)] for z >= 0.
double excess(double z) { return density(z) - z * normal_share_below(-z); }

// Lines in ascending order of slope; of equal slopes only the highest.
std::vector<Line> sorted_lines(const std::vector<double>& means,
                               const std::vector<double>& slopes) {
  std::vector<Line> lines;
  for (std::size_t i = 0; i < means.size(); ++i) lines.push_back({means[i], slopes[i]});
  std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return a.slope != b.slope ? a.slope < b.slope : a.mean > b.mean;
  });
  const auto same = [](const Line& a, const Line& b) { return a.slope == b.slope; };
  lines.erase(std::unique(lines.begin(), lines.end(), same), lines.end());
  return lines;
}

}  // namespace

double knowledge_gradient(const std::vector<double>& means, const std::vector<double>& slopes) {
  if (means.empty()) return 0;
  // The upper envelope: the lines that are highest somewhere, and where each takes over.
  std::vector<Line> upper;
  std::vector<double> starts;
  for (const Line& line : sorted_lines(means, slopes)) {
    double start = -std::numeric_limits<double>::infinity();
    while (!upper.empty()) {
      const Line& last = upper.back();
      start = (last.mean - line.mean) / (line.slope - last.slope);
      if (start > starts.back()) break;
      upper.pop_back();
      starts.pop_back();
      start = -std::numeric_limits<double>::infinity();
    }
    upper.push_back(line);
    starts.push_back(start);
  }
  double gain = 0;
  for (std::size_t i = 1; i < upper.size(); ++i) {
    gain += (upper[i].slope - upper[i - 1].slope) * excess(std::fabs(starts[i]));
  }
  return gain;
}

}  // namespace ocrtune
