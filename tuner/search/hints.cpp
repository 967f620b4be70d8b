// Settings of an earlier run are moved to the nearest points of this space. One hint at a time is
// tried, and the queue is dropped as soon as the earlier order does not show here.
#include "tuner/search/hints.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "tuner/search/search_board.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxHints = 3;  // guess

// Doublings of each count, and one for each word that differs.
double distance(const Knobs& a, const Knobs& b) {
  double sum = 0;
  for (const KnobRow& row : knob_table()) {
    if (row.number != nullptr) {
      sum += std::fabs(std::log2((1.0 + a.*row.number) / (1.0 + b.*row.number)));
    } else {
      sum += a.*row.word == b.*row.word ? 0 : 1;
    }
  }
  return sum + (a.dims == b.dims ? 0 : 1);
}

}  // namespace

std::vector<Knobs> hints_of(const TuneResult& earlier) {
  std::vector<const SettingSummary*> fastest;
  for (const SettingSummary& setting : earlier.settings) {
    if (setting.outcome == Outcome::ok && setting.samples_per_second.median > 0) {
      fastest.push_back(&setting);
    }
  }
  std::stable_sort(fastest.begin(), fastest.end(),
                   [](const SettingSummary* a, const SettingSummary* b) {
                     return a->samples_per_second.median > b->samples_per_second.median;
                   });
  std::vector<Knobs> hints;
  std::set<std::pair<int, int>> teams;
  for (const SettingSummary* setting : fastest) {
    const Knobs& knobs = setting->knobs;
    if (hints.size() == kMaxHints) break;
    // Neighbours of the best differ little from it: another team of processes and threads tells
    // more.
    if (teams.emplace(knobs.nproc, knobs.threads).second) hints.push_back(knobs);
  }
  return hints;
}

std::vector<int> hint_points(const Space& space, const std::vector<Knobs>& hints) {
  std::vector<int> points;
  for (const Knobs& hint : hints) {
    int nearest = -1;
    double least = std::numeric_limits<double>::infinity();
    for (int point = 0; point < space.size(); ++point) {
      const double far = distance(space.knobs(point), hint);
      if (far >= least) continue;
      least = far;
      nearest = point;
    }
    if (nearest >= 0 && std::find(points.begin(), points.end(), nearest) == points.end()) {
      points.push_back(nearest);
    }
  }
  return points;
}

std::optional<int> HintQueue::next(const SearchBoard& board, int max_trials) {
  if (tried() >= max_trials) return std::nullopt;
  if (!tried_.empty() && !points_.empty() && !holds(board)) points_.clear();
  for (auto hint = points_.begin(); hint != points_.end(); ++hint) {
    const int point = *hint;
    if (!board.open(point) || !board.runnable(point) || board.crowded(point)) continue;
    points_.erase(hint);
    tried_.push_back(point);
    return point;
  }
  return std::nullopt;
}

// The last hint is ahead of the user's setting, and not of the hint before it.
bool HintQueue::holds(const SearchBoard& board) const {
  const Ledger& ledger = board.ledger;
  const int last = tried_.back();
  if (!ledger.eligible(last)) return false;
  const double slack = 1 + 2 * ledger.noise(board.options.expected_noise);  // two deviations
  const int baseline = board.baseline();
  const double rate = ledger.median_rate(last);
  if (baseline >= 0 && baseline != last && rate * slack < ledger.median_rate(baseline)) {
    return false;
  }
  return tried_.size() < 2 || rate < slack * ledger.median_rate(tried_[tried_.size() - 2]);
}

}  // namespace ocrtune
