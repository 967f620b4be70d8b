// Coordinate descent, as others do it: the best single measurement wins.
#include "bench/search/coordinate_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "bench/search/board_search.h"

namespace ocrtune {
namespace {

double doublings(double from, double to) { return std::fabs(std::log2(to / from)); }

std::vector<int> line(const Space& space, int point, std::size_t axis) {
  std::vector<int> place = space.place(point);
  const int here = place[axis];
  const int count = static_cast<int>(space.axes()[axis].values.size());
  const bool category = space.axes()[axis].scale == KnobScale::category;
  std::vector<int> found;
  for (int value = 0; value < count; ++value) {
    if (value == here || (!category && std::abs(value - here) > 1)) continue;
    place[axis] = value;
    if (const int other = space.at(place); other >= 0) found.push_back(other);
  }
  return found;
}

// One count up and another down: processes against threads, processes against batch.
std::vector<int> trades(const Space& space, int point) {
  std::vector<int> found;
  const std::size_t count = space.axes().size();
  for (std::size_t up = 0; up < count; ++up) {
    for (std::size_t down = 0; down < count; ++down) {
      const bool counts = space.axes()[up].scale == KnobScale::count &&
                          space.axes()[down].scale == KnobScale::count;
      if (up == down || !counts) continue;
      std::vector<int> place = space.place(point);
      ++place[up];
      --place[down];
      if (const int other = space.at(place); other >= 0) found.push_back(other);
    }
  }
  return found;
}

// All usable CPUs shared by a quarter as many processes, a middle batch, few loaders; the nearest
// point of the space that `admitted` allows. -1 when nothing is admitted.
int sane_start(const Space& space, double cores, const std::function<bool(int)>& admitted) {
  int best = -1;
  double least = std::numeric_limits<double>::max();
  double batch = 1;
  for (const Knobs& knobs : space.points()) batch = std::max(batch, 1.0 * knobs.batch);
  batch = std::max(1.0, std::sqrt(batch * 8));
  const double processes = std::max(1.0, cores / 4);
  for (int point = 0; point < space.size(); ++point) {
    if (!admitted(point)) continue;
    const Knobs& knobs = space.knobs(point);
    double distance = doublings(processes, knobs.nproc) + doublings(batch, knobs.batch);
    distance += 2 * doublings(cores, static_cast<double>(knobs.nproc) * knobs.threads);
    distance += 0.3 * std::abs(knobs.workers - 1) + (knobs.binding == "none" ? 0 : 0.1);
    if (distance >= least) continue;
    least = distance;
    best = point;
  }
  return best;
}

// The next untried point of a descent around the best point so far; nothing at a local optimum.
std::optional<int> coordinate_step(const Ledger& ledger, int start,
                                   const std::function<bool(int)>& admitted) {
  const int best = ledger.best();
  const auto& tried = ledger.tried();
  const bool start_tried = tried.size() > 1;  // the lightest point comes before the start
  if (best < 0 || !start_tried) {
    return start >= 0 ? std::optional<int>(start) : std::nullopt;
  }
  // Go on along the axis of the last trial if that trial became the best.
  const Space& space = ledger.space();
  const std::size_t axes = space.axes().size();
  const auto turn = static_cast<std::size_t>(ledger.trials());
  for (std::size_t i = 0; i < axes; ++i) {
    const std::size_t axis = tried.back() == best ? i : (turn + i) % axes;
    for (int other : line(space, best, axis)) {
      if (admitted(other)) return other;
    }
  }
  for (int other : trades(space, best)) {
    if (admitted(other)) return other;
  }
  return std::nullopt;
}

class CoordinateSearch : public BoardSearch {
 public:
  CoordinateSearch(const Space& space, const SearchOptions& options)
      : BoardSearch(space, options),
        cores_(options.cores > 0 ? options.cores : cores_of_space(space)) {}

  std::optional<Proposal> next(double seconds_left) override {
    if (board.trials_left(seconds_left) < 1) return stop("budget");
    if (const auto next_mandatory = board.next_mandatory()) {
      return board.propose_mandatory(*next_mandatory);
    }
    const auto admitted = [&](int point) {
      return board.open(point) && board.safety.admitted(point);
    };
    const int start = sane_start(*board.space, cores_, admitted);
    if (const auto point = coordinate_step(board.ledger, start, admitted)) {
      return board.propose(*point, "model", "one knob on");
    }
    return stop("no neighbour is better");
  }

 private:
  double cores_;

  std::optional<Proposal> stop(std::string reason) {
    board.stop_reason = std::move(reason);
    return std::nullopt;
  }
};

}  // namespace

std::unique_ptr<Search> make_coordinate_search(const Space& space, const SearchOptions& options) {
  return std::make_unique<CoordinateSearch>(space, options);
}

}  // namespace ocrtune
