// What the search of tune is compared with.
#include "bench/search/strategies.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "base/stats.h"
#include "bench/search/board_search.h"
#include "bench/search/coordinate_search.h"

namespace ocrtune {
namespace {

// Strategies without a model: random order, table order, and successive halving. The best single
// measurement wins, nothing is re-measured except by halving, and memory is found out by running
// out of it.

// A fixed list of points, run once each.
class ListSearch : public BoardSearch {
 public:
  ListSearch(const Space& space, const SearchOptions& options, std::vector<int> order)
      : BoardSearch(space, options), order_(std::move(order)) {}

  std::optional<Proposal> next(double seconds_left) override {
    if (board.trials_left(seconds_left) < 1) {
      board.stop_reason = "budget";
      return std::nullopt;
    }
    for (int point : board.always) {
      if (board.open(point)) return board.propose_mandatory(point);
    }
    while (next_ < order_.size() && board.ledger.record(order_[next_]).tried()) ++next_;
    if (next_ == order_.size()) {
      board.stop_reason = "every setting tried";
      return std::nullopt;
    }
    return board.propose(order_[next_], "sweep", "next in the list");
  }

 private:
  std::vector<int> order_;
  std::size_t next_ = 0;
};

class HalvingSearch : public BoardSearch {
 public:
  HalvingSearch(const Space& space, const SearchOptions& options)
      : BoardSearch(space, options), random_(options.seed) {}

  std::optional<Proposal> next(double seconds_left) override {
    const int left = board.trials_left(seconds_left);
    if (left < 1) {
      board.stop_reason = "budget";
      return std::nullopt;
    }
    for (int point : board.always) {
      if (board.open(point)) return board.propose_mandatory(point);
    }
    if (round_ == 0) draw(left);
    if (queue_.empty()) halve();
    if (queue_.empty()) {
      board.stop_reason = "one setting is left";
      return std::nullopt;
    }
    const int point = queue_.back();
    queue_.pop_back();
    return board.propose(point, round_ == 1 ? "sweep" : "race", "the better half again");
  }

 private:
  Random random_;
  std::vector<int> queue_, alive_;
  int round_ = 0;

  void draw(int left) {
    std::vector<int> all(static_cast<std::size_t>(board.space->size()));
    std::iota(all.begin(), all.end(), 0);
    random_.shuffle(all);
    // n + n/2 x 2 + n/4 x 4 + ...: a third of the budget buys about three halvings.
    all.resize(std::min(all.size(), static_cast<std::size_t>(std::max(1, left / 3))));
    alive_ = queue_ = all;
    round_ = 1;
  }

  void halve() {
    std::erase_if(alive_, [&](int point) { return !board.ledger.record(point).works(); });
    std::sort(alive_.begin(), alive_.end(), [&](int a, int b) {
      return board.ledger.median_rate(a) > board.ledger.median_rate(b);
    });
    if (alive_.size() <= 1) return;
    alive_.resize((alive_.size() + 1) / 2);
    const int repeats = 1 << std::min(round_ - 1, 6);
    for (int i = 0; i < repeats; ++i) queue_.insert(queue_.end(), alive_.begin(), alive_.end());
    ++round_;
  }
};

std::unique_ptr<Search> make_random_search(const Space& space, const SearchOptions& options) {
  std::vector<int> order(static_cast<std::size_t>(space.size()));
  std::iota(order.begin(), order.end(), 0);
  Random random(options.seed);
  random.shuffle(order);
  return std::make_unique<ListSearch>(space, options, std::move(order));
}

std::unique_ptr<Search> make_exhaustive_search(const Space& space, const SearchOptions& options) {
  std::vector<int> order(static_cast<std::size_t>(space.size()));
  std::iota(order.begin(), order.end(), 0);
  return std::make_unique<ListSearch>(space, options, std::move(order));
}

// A third of the budget on random settings, then the better half again and again.
std::unique_ptr<Search> make_halving_search(const Space& space, const SearchOptions& options) {
  return std::make_unique<HalvingSearch>(space, options);
}

template <auto make>
std::unique_ptr<Search> without_foresight(const Space& space, const SearchOptions& options) {
  SearchOptions blind = options;
  blind.safety.limit_bytes = 0;
  blind.safety.growth = 1e18;
  blind.safety.memory.prior = nullptr;
  return make(space, blind);
}

}  // namespace

const std::vector<StrategyRow>& strategy_table() {
  static const std::vector<StrategyRow> kTable = {
      {"ours", make_search},
      {"coordinate", without_foresight<make_coordinate_search>},
      {"random", without_foresight<make_random_search>},
      {"exhaustive", without_foresight<make_exhaustive_search>},
      {"halving", without_foresight<make_halving_search>},
  };
  return kTable;
}

}  // namespace ocrtune
