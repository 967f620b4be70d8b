// The training recipe that an answer keeps, by its global batch.
#pragma once

#include <cstdint>

#include "tuner/job/job.h"
#include "tuner/job/search_request.h"

namespace ocrtune {

// The global batch of the user's start, where it is known and no list of batches frees it: an
// answer that is faster because it trains by another recipe is another answer. 0: free.
std::int64_t recipe_batch(const Job& job, const SearchRequest& search);

}  // namespace ocrtune
