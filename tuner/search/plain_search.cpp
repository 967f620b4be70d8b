#include "tuner/search/plain_search.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "base/stats.h"
#include "tuner/search/search_board.h"

namespace ocrtune {
namespace {

SearchOptions without_foresight(SearchOptions options) {
  options.safety.limit_bytes = 0;
  options.safety.growth = 1e18;
  options.safety.memory.prior = nullptr;
  return options;
}

// A fixed list of points, run once each.
class ListSearch : public Search {
 public:
  ListSearch(const Space& space, const SearchOptions& options, std::vector<int> order)
      : board_(space, without_foresight(options)), order_(std::move(order)) {}

  void tell(const Trial& trial) override { board_.tell(trial); }
  std::string stop_reason() const override { return board_.stop_reason; }
  const Objective& objective() const override { return board_.options.objective; }
  Prediction predict(const Knobs& knobs) const override { return board_.measured(knobs); }

  std::optional<Proposal> next(double seconds_left) override {
    if (board_.trials_left(seconds_left) < 1) {
      board_.stop_reason = "budget";
      return std::nullopt;
    }
    for (int point : board_.always) {
      if (board_.open(point)) return board_.propose_mandatory(point);
    }
    while (next_ < order_.size() && board_.ledger.record(order_[next_]).tried()) ++next_;
    if (next_ == order_.size()) {
      board_.stop_reason = "every setting tried";
      return std::nullopt;
    }
    return board_.propose(order_[next_], "sweep", "next in the list");
  }

 private:
  SearchBoard board_;
  std::vector<int> order_;
  std::size_t next_ = 0;
};

class HalvingSearch : public Search {
 public:
  HalvingSearch(const Space& space, const SearchOptions& options)
      : board_(space, without_foresight(options)), random_(options.seed) {}

  void tell(const Trial& trial) override { board_.tell(trial); }
  std::string stop_reason() const override { return board_.stop_reason; }
  const Objective& objective() const override { return board_.options.objective; }
  Prediction predict(const Knobs& knobs) const override { return board_.measured(knobs); }

  std::optional<Proposal> next(double seconds_left) override {
    const int left = board_.trials_left(seconds_left);
    if (left < 1) {
      board_.stop_reason = "budget";
      return std::nullopt;
    }
    for (int point : board_.always) {
      if (board_.open(point)) return board_.propose_mandatory(point);
    }
    if (round_ == 0) draw(left);
    if (queue_.empty()) halve();
    if (queue_.empty()) {
      board_.stop_reason = "one setting is left";
      return std::nullopt;
    }
    const int point = queue_.back();
    queue_.pop_back();
    return board_.propose(point, round_ == 1 ? "sweep" : "race", "the better half again");
  }

 private:
  SearchBoard board_;
  Random random_;
  std::vector<int> queue_, alive_;
  int round_ = 0;

  void draw(int left) {
    std::vector<int> all(static_cast<std::size_t>(board_.space->size()));
    std::iota(all.begin(), all.end(), 0);
    random_.shuffle(all);
    // n + n/2 x 2 + n/4 x 4 + ...: a third of the budget buys about three halvings.
    all.resize(std::min(all.size(), static_cast<std::size_t>(std::max(1, left / 3))));
    alive_ = queue_ = all;
    round_ = 1;
  }

  void halve() {
    std::erase_if(alive_, [&](int point) { return !board_.ledger.record(point).works(); });
    std::sort(alive_.begin(), alive_.end(), [&](int a, int b) {
      return board_.ledger.median_rate(a) > board_.ledger.median_rate(b);
    });
    if (alive_.size() <= 1) return;
    alive_.resize((alive_.size() + 1) / 2);
    const int repeats = 1 << std::min(round_ - 1, 6);
    for (int i = 0; i < repeats; ++i) queue_.insert(queue_.end(), alive_.begin(), alive_.end());
    ++round_;
  }
};

}  // namespace

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

std::unique_ptr<Search> make_halving_search(const Space& space, const SearchOptions& options) {
  return std::make_unique<HalvingSearch>(space, options);
}

}  // namespace ocrtune
