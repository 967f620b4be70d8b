// Looks over the whole space for one knob at a time: loaders, then batch, then threads. What counts
// is the knob's total over all processes, on about as many cores as the leader uses.
#include "tuner/search/memory_trade.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace ocrtune {
namespace {

constexpr double kBatchWeight = 0.25;  // of a doubling of the batch, beside one of the cores used

double doublings_apart(double a, double b) { return std::fabs(std::log2(a / b)); }

// By memory, from the next value of the knob alone.
bool held_back(const SearchBoard& board, int leader, std::size_t axis,
               const std::function<bool(int)>& likely_to_fit) {
  std::vector<int> place = board.space->place(leader);
  if (++place[axis] >= static_cast<int>(board.space->axes()[axis].values.size())) return false;
  const int more = board.space->at(place);
  return more >= 0 && !board.ledger.record(more).works() && !likely_to_fit(more);
}

bool same_words(const Space& space, int a, int b) {
  for (std::size_t i = 0; i < space.axes().size(); ++i) {
    const bool word = space.axes()[i].scale == KnobScale::category;
    if (word && space.place(a)[i] != space.place(b)[i]) return false;
  }
  return true;
}

// Fewer processes, or as many with fewer threads.
bool smaller_team(const Knobs& a, const Knobs& b) {
  return a.nproc < b.nproc || (a.nproc == b.nproc && a.threads < b.threads);
}

// Of those that fit the one with most of the knob in all, on about as many cores.
std::optional<int> best_of(const SearchBoard& board, int leader, std::size_t axis,
                           const std::function<bool(int)>& likely_to_fit) {
  const Space& space = *board.space;
  const Knobs& from = space.knobs(leader);
  const std::vector<int>& tried = board.ledger.tried();
  const auto number = [&](int point) {
    return space.number(static_cast<int>(axis), space.place(point)[axis]);
  };
  std::optional<int> found;
  double best = -std::numeric_limits<double>::infinity();
  for (int point = 0; point < space.size(); ++point) {
    const Knobs& to = space.knobs(point);
    if (!smaller_team(to, from) || number(point) <= number(leader)) continue;
    // A trial with as few processes has shown as much of the knob already.
    const bool met = std::any_of(tried.begin(), tried.end(), [&](int seen) {
      const Knobs& had = space.knobs(seen);
      const bool alike =
          had.nproc == to.nproc && (to.nproc < from.nproc || had.threads == to.threads);
      return alike && number(seen) >= number(point);
    });
    if (met || !same_words(space, leader, point) || !likely_to_fit(point)) continue;
    const double value =
        std::log2(to.nproc * number(point)) -
        doublings_apart(1.0 * to.nproc * to.threads, 1.0 * from.nproc * from.threads) -
        kBatchWeight * doublings_apart(to.batch, from.batch);
    if (value <= best) continue;
    best = value;
    found = point;
  }
  return found;
}

}  // namespace

std::optional<int> memory_trade(const SearchBoard& board, int leader,
                                const std::function<bool(int)>& likely_to_fit) {
  for (const char* name : {"workers", "batch", "threads"}) {
    const int axis = board.space->axis(name);
    if (axis < 0 || !held_back(board, leader, static_cast<std::size_t>(axis), likely_to_fit)) {
      continue;
    }
    const auto found = best_of(board, leader, static_cast<std::size_t>(axis), likely_to_fit);
    if (found) return found;
  }
  return std::nullopt;
}

}  // namespace ocrtune
