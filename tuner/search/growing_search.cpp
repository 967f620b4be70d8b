// A search whose lists go on where the evidence asks for it.
//
// A list that ocrtune made itself ends somewhere: loader workers at the number of CPUs. A program
// that waits for a disk or a network wants more. Where the best setting has the last value of such
// a list, is clearly faster than with a smaller one, and leaves CPUs idle, the list gets twice that
// value, up to SearchOptions::further. What it decides rests on the trials it was told alone, so a
// run that is judged later has the same space.
//
// A longer list is a new space: the inner search is made again on it and told every trial so far.
// Searches are pure functions of what they are told, so nothing is lost.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "tuner/search/search.h"
#include "tuner/search/search_board.h"

namespace ocrtune {
namespace {

constexpr double kIdleShare = 0.8;  // of the CPUs: a program that keeps fewer busy waits
constexpr double kBrought = 1.05;   // by which the last value must be faster than any before it

class GrowingSearch final : public Search {
 public:
  GrowingSearch(const Space& space, const SearchOptions& options, SearchMaker make)
      : options_(options), make_(make) {
    use(std::make_unique<const Space>(space));
  }

  void tell(const Trial& trial) override {
    told_.push_back(trial);
    ledger_->add(trial);
    inner_->tell(trial);
    // A stored run is told again trial by trial: lists grow at the same trials as they did.
    while (grow()) {
    }
  }

  std::optional<Proposal> next(double seconds_left) override { return inner_->next(seconds_left); }
  std::optional<Proposal> settle(const OpenQuestion& question, double seconds_left) override {
    return inner_->settle(question, seconds_left);
  }
  std::string stop_reason() const override { return inner_->stop_reason(); }
  const Objective& objective() const override { return options_.objective; }
  Prediction predict(const Knobs& knobs) const override { return inner_->predict(knobs); }
  std::vector<FittedTerm> terms() const override { return inner_->terms(); }
  std::vector<InertKnob> inert() const override { return inner_->inert(); }
  const Space* own_space() const override {
    const Space* inner = inner_->own_space();
    return inner != nullptr || !grown_ ? inner : space_.get();
  }

 private:
  SearchOptions options_;
  SearchMaker make_;
  std::unique_ptr<const Space> space_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<Search> inner_;
  std::vector<Trial> told_;
  bool grown_ = false;

  // `space` may hold points of the one before it: that ends last.
  void use(std::unique_ptr<const Space> space) {
    inner_ = make_(*space, options_);
    ledger_ = std::make_unique<Ledger>(*space, options_.objective);
    for (const Trial& trial : told_) {
      inner_->tell(trial);
      ledger_->add(trial);
    }
    space_ = std::move(space);
  }

  // One list by one value; false: none goes on.
  bool grow() {
    for (const auto& [knob, most] : options_.further) {
      const int next = next_value(knob, most);
      if (next == 0) continue;
      auto longer = std::make_unique<const Space>(with_next(knob, next));
      // The conditions allow no setting with the longer value.
      if (longer->size() == space_->size()) continue;
      grown_ = true;
      use(std::move(longer));
      return true;
    }
    return false;
  }

  // The value that the list of the knob goes on with; 0: it does not.
  int next_value(const std::string& knob, int most) const {
    const int best = ledger_->best();
    if (best < 0 || space_->axis(knob) < 0) return 0;
    const int last = value_of(best, knob);
    const int next = std::min(2 * last, most);
    if (next <= last || last < last_of(knob)) return 0;
    const double busy = ledger_->busy_cpus(best);
    const int bound = ledger_->bound_cpus(space_->knobs(best).nproc);
    const int cpus = bound > 0 ? std::min(bound, options_.cpus) : options_.cpus;
    // CPUs that are busy gain nothing from more processes or loaders.
    if (!(busy > 0) || busy > kIdleShare * cpus) return 0;
    double before = 0;
    for (const int tried : ledger_->tried()) {
      if (value_of(tried, knob) == last || !ledger_->eligible(tried)) continue;
      before = std::max(before, ledger_->median_rate(tried));
    }
    // Two deviations of a ratio's noise, and 5 % at least.
    const double slack = std::max(kBrought, 1 + 2 * ledger_->noise(options_.expected_noise));
    return before > 0 && ledger_->median_rate(best) > slack * before ? next : 0;
  }

  int value_of(int point, const std::string& knob) const {
    return static_cast<int>(parse_integer(knob_text(space_->knobs(point), knob)).value_or(0));
  }

  int last_of(const std::string& knob) const {
    int last = 0;
    for (int point = 0; point < space_->size(); ++point) {
      last = std::max(last, value_of(point, knob));
    }
    return last;
  }

  // Each setting with the last value, and the same with the next one.
  Space with_next(const std::string& knob, int next) const {
    const int last = last_of(knob);
    std::vector<Knobs> points = space_->points();
    const std::size_t before = points.size();
    for (std::size_t i = 0; i < before; ++i) {
      if (value_of(static_cast<int>(i), knob) != last) continue;
      Knobs more = points[i];
      if (!set_knob(more, knob, fmt::format("{}", next))) continue;
      if (!options_.allows || options_.allows(more)) points.push_back(std::move(more));
    }
    return Space(std::move(points));
  }
};

}  // namespace

std::unique_ptr<Search> make_growing_search(const Space& space, const SearchOptions& options,
                                            SearchMaker make) {
  const bool any = std::any_of(options.further.begin(), options.further.end(),
                               [&](const auto& list) { return space.axis(list.first) >= 0; });
  if (!any || options.cpus <= 0 || options.objective.goal != Goal::throughput) {
    return make(space, options);
  }
  return std::make_unique<GrowingSearch>(space, options, make);
}

}  // namespace ocrtune
