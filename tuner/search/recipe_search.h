// A search that keeps the training recipe: two thirds of the budget go to settings whose global
// batch is the user's, the rest to the others, whose best stands second in the answer.
#pragma once

#include <memory>

#include "tuner/search/search.h"

namespace ocrtune {

// Searches with options.recipe_batch samples between two updates, above 0, by what `make` makes.
// Where all settings keep the recipe, or only one does, it is that alone.
std::unique_ptr<Search> make_recipe_search(const Space& space, const SearchOptions& options,
                                           SearchMaker make);

}  // namespace ocrtune
