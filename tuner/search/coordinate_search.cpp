#include "tuner/search/coordinate_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "tuner/search/race.h"
#include "tuner/search/search_board.h"

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

class CoordinateSearch : public BoardSearch {
 public:
  CoordinateSearch(const Space& space, const SearchOptions& options, bool careful)
      : BoardSearch(space, options), careful_(careful) {
    cores_ = options.cores > 0 ? options.cores : cores_of_space(space);
  }

  std::optional<Proposal> next(double seconds_left) override {
    const int left = board.trials_left(seconds_left);
    if (left < 1) return stop("budget");
    if (const auto next_mandatory = board.next_mandatory())
      return board.propose_mandatory(*next_mandatory);
    const int budget = board.ledger.trials() + left;
    const int reserve = careful_ ? std::clamp(budget / 5, 2, 24) : 0;
    if (!race_.started() && (left > reserve || board.ledger.best() < 0)) {
      if (const auto point = descend()) return board.propose(*point, "model", "one knob on");
    }
    if (!careful_) return stop("no neighbour is better");
    return race(left);
  }

 private:
  bool careful_;
  double cores_ = 1;
  Race race_;

  std::optional<Proposal> stop(std::string reason) {
    board.stop_reason = std::move(reason);
    return std::nullopt;
  }

  std::optional<int> descend() {
    const auto admitted = [&](int point) {
      return board.open(point) && board.safety.admitted(point);
    };
    const int lightest = board.safety.lightest();
    if (careful_ && board.ledger.trials() == 0 && admitted(lightest)) return lightest;
    return coordinate_step(board.ledger, sane_start(*board.space, cores_, admitted), admitted);
  }

  std::optional<Proposal> race(int left) {
    if (!race_.started()) {
      std::vector<int> leaders;
      for (int point : board.ledger.tried()) {
        const PointRecord& record = board.ledger.record(point);
        if (record.works() && record.failures == 0) leaders.push_back(point);
      }
      std::sort(leaders.begin(), leaders.end(), [&](int a, int b) {
        return board.ledger.median_rate(a) > board.ledger.median_rate(b);
      });
      leaders.resize(std::min(leaders.size(), static_cast<std::size_t>(std::max(2, left / 3))));
      if (leaders.empty()) return stop("no setting works");
      race_ = Race(std::move(leaders), {24, 0.004, board.options.seed + 1});
    }
    const auto point = race_.next(board.ledger, board.own_standing(), left);
    if (!point) return stop("no neighbour is better, and the leaders are raced");
    return board.propose(*point, "race", fmt::format("round {} of the leaders", race_.round()));
  }
};

}  // namespace

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

std::unique_ptr<Search> make_coordinate_search(const Space& space, const SearchOptions& options,
                                               bool careful) {
  SearchOptions adapted = options;
  if (!careful) {
    adapted.safety.limit_bytes = 0;
    adapted.safety.growth = 1e18;
    adapted.safety.memory.prior = nullptr;
  }
  return std::make_unique<CoordinateSearch>(space, adapted, careful);
}

}  // namespace ocrtune
