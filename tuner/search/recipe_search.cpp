// A search that keeps the training recipe: two thirds of the budget go to settings whose global
// batch is the user's, the rest to the others, whose best stands second in the answer.
//
// Two searches are told every trial: one of the settings that keep the recipe, one of all. The
// first asks until its share is spent or it has no more to ask; then the second one does.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "trial/workloads/command/command_fill.h"
#include "tuner/search/search.h"

namespace ocrtune {
namespace {

constexpr double kBeyondShare = 1.0 / 3;  // of the budget, for settings that change the recipe

Space within_recipe(const Space& space, std::int64_t global) {
  std::vector<Knobs> points = space.points();
  std::erase_if(points, [&](const Knobs& knobs) { return global_batch(knobs) != global; });
  return Space(std::move(points));
}

class RecipeSearch final : public Search {
 public:
  RecipeSearch(const Space& space, const SearchOptions& options, Space kept, SearchMaker make)
      : space_(space),
        kept_space_(std::move(kept)),
        kept_(make(kept_space_, options)),
        all_(make(space, options)) {}

  std::optional<Proposal> next(double seconds_left) override {
    // At the first call the budget is whole; after a resume, what is left of it.
    if (beyond_seconds_ < 0) beyond_seconds_ = kBeyondShare * seconds_left;
    const double for_kept = seconds_left - beyond_seconds_;
    if (!kept_over_ && for_kept > 0) {
      // It sees a budget without the share of the others.
      if (auto proposal = kept_->next(for_kept)) return proposal;
      kept_over_ = true;
    }
    const double for_beyond = std::min(seconds_left, beyond_seconds_);
    auto proposal = all_->next(for_beyond);
    if (!proposal || kept_space_.find(proposal->knobs) < 0) return proposal;
    // Leaders of the kept recipe that tie would be run again and again, and the share spent on
    // them.
    if (const Knobs* rival = promising_beyond()) {
      auto other = all_->settle({proposal->knobs, *rival, 0}, for_beyond);
      if (other && kept_space_.find(other->knobs) < 0) return other;
    }
    return proposal;
  }

  std::optional<Proposal> settle(const OpenQuestion& question, double seconds_left) override {
    return kept_->settle(question, seconds_left);
  }

  void tell(const Trial& trial) override {
    kept_->tell(trial);
    all_->tell(trial);
    told_.insert(trial.knobs);
    if (trial.ok()) best_ = std::max(best_, trial.samples_per_second);
    if (kept_space_.find(trial.knobs) < 0 && beyond_seconds_ > 0) {
      beyond_seconds_ = std::max(0.0, beyond_seconds_ - trial.seconds);
    }
  }

  std::string stop_reason() const override {
    return kept_over_ ? kept_->stop_reason() : all_->stop_reason();
  }
  const Objective& objective() const override { return all_->objective(); }
  Prediction predict(const Knobs& knobs) const override { return all_->predict(knobs); }
  std::vector<FittedTerm> terms() const override { return all_->terms(); }

 private:
  // Of those of another recipe that were not run, the one that may be the fastest; null: none may
  // be faster than what was run.
  const Knobs* promising_beyond() const {
    const Knobs* promising = nullptr;
    double most = best_;
    for (const Knobs& knobs : space_.points()) {
      if (kept_space_.find(knobs) >= 0 || told_.contains(knobs)) continue;
      const Prediction prediction = all_->predict(knobs);
      if (!prediction.may_work || prediction.samples_per_second.high <= most) continue;
      promising = &knobs;
      most = prediction.samples_per_second.high;
    }
    return promising;
  }

  const Space& space_;
  Space kept_space_;
  std::unique_ptr<Search> kept_, all_;
  double beyond_seconds_ = -1;  // left for settings that change the recipe; -1: not begun
  bool kept_over_ = false;
  std::set<Knobs> told_;
  double best_ = 0;  // samples per second of a trial
};

}  // namespace

std::unique_ptr<Search> make_recipe_search(const Space& space, const SearchOptions& options,
                                           SearchMaker make) {
  Space kept = within_recipe(space, options.recipe_batch);
  if (kept.size() < 2 || kept.size() == space.size()) return make(space, options);
  return std::make_unique<RecipeSearch>(space, options, std::move(kept), make);
}

}  // namespace ocrtune
