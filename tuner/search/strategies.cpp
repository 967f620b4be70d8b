// The table of strategies; to add one is to add a row.
#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "base/stats.h"
#include "tuner/search/coordinate_search.h"
#include "tuner/search/growing_search.h"
#include "tuner/search/inert_search.h"
#include "tuner/search/model_search.h"
#include "tuner/search/recipe_search.h"
#include "tuner/search/search.h"
#include "tuner/search/search_board.h"
#include "tuner/search/sweep_search.h"

namespace ocrtune {

namespace {

SearchOptions without_foresight(SearchOptions options) {
  options.safety.limit_bytes = 0;
  options.safety.growth = 1e18;
  options.safety.memory.prior = nullptr;
  return options;
}

// Strategies without a model, for comparison: random order, table order, and successive halving.
// The best single measurement wins, nothing is re-measured except by halving, and memory is found
// out by running out of it.

// A fixed list of points, run once each.
class ListSearch : public BoardSearch {
 public:
  ListSearch(const Space& space, const SearchOptions& options, std::vector<int> order)
      : BoardSearch(space, without_foresight(options)), order_(std::move(order)) {}

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
      : BoardSearch(space, without_foresight(options)), random_(options.seed) {}

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

std::unique_ptr<Search> sweep_or_model(const Space& space, const SearchOptions& options) {
  return space.size() <= kSmallSpace ? make_sweep_search(space, options)
                                     : make_model_search(space, options);
}

std::unique_ptr<Search> keeping_the_recipe(const Space& space, const SearchOptions& options) {
  return options.recipe_batch > 0 ? make_recipe_search(space, options, sweep_or_model)
                                  : sweep_or_model(space, options);
}

std::unique_ptr<Search> without_inert_knobs(const Space& space, const SearchOptions& options) {
  if (options.doubted.empty()) return keeping_the_recipe(space, options);
  return make_inert_search(space, options, options.doubted[0], keeping_the_recipe);
}

}  // namespace

const std::vector<StrategyRow>& strategy_table() {
  static const std::vector<StrategyRow> kTable = {
      {"ours", "sweep of a small space that the budget holds; else model and race",
       [](const Space& space, const SearchOptions& options) {
         return make_growing_search(space, options, without_inert_knobs);
       }},
      {"coordinate", "one knob at a time from a sane setting, best single trial wins",
       [](const Space& space, const SearchOptions& options) {
         return make_coordinate_search(space, options, false);
       }},
      {"random", "settings at random, best single trial wins", make_random_search},
      {"exhaustive", "settings in the order of the space, best single trial wins",
       make_exhaustive_search},
      {"halving", "random settings, the better half measured again and again", make_halving_search},
  };
  return kTable;
}

const StrategyRow* find_strategy(const std::string& name) {
  for (const StrategyRow& row : strategy_table()) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

}  // namespace ocrtune
