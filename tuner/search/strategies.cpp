// The table of strategies; to add one is to add a row.
#include "tuner/search/coordinate_search.h"
#include "tuner/search/inert_search.h"
#include "tuner/search/model_search.h"
#include "tuner/search/plain_search.h"
#include "tuner/search/search.h"
#include "tuner/search/sweep_search.h"

namespace ocrtune {

namespace {

std::unique_ptr<Search> sweep_or_model(const Space& space, const SearchOptions& options) {
  return space.size() <= kSmallSpace ? make_sweep_search(space, options)
                                     : make_model_search(space, options);
}

}  // namespace

const std::vector<StrategyRow>& strategy_table() {
  static const std::vector<StrategyRow> kTable = {
      {"ours", "sweep of a small space that the budget holds; else model and race",
       [](const Space& space, const SearchOptions& options) {
         if (options.doubted.empty()) return sweep_or_model(space, options);
         return make_inert_search(space, options, options.doubted[0], sweep_or_model);
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
