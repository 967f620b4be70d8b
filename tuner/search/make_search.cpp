// The search that tune runs: what it is made of, from the outside in.
#include <memory>

#include "tuner/search/inert_search.h"
#include "tuner/search/search.h"

namespace ocrtune {
namespace {

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

std::unique_ptr<Search> make_search(const Space& space, const SearchOptions& options) {
  return make_growing_search(space, options, without_inert_knobs);
}

}  // namespace ocrtune
