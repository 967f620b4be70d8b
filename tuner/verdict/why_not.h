// Why a setting was not chosen: measured, predicted, or not to be launched at all.
#pragma once

#include "tuner/search/search.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {

enum class WhyNotKind { chosen, measured, predicted, refused, failed, outside, unknown };

struct WhyNot {
  Knobs knobs;
  WhyNotKind kind = WhyNotKind::unknown;
  Interval samples_per_second;  // measured or predicted; all zero: neither
  Interval ratio;               // to the recommended setting; all zero: not known
  double peak_bytes = 0;        // measured or predicted; 0: not known
  double peak_high_bytes = 0;   // upper bound of a prediction
  Reason answer;
  Reason to_find_out;  // how to know for sure; empty when it is known
};

// `search` was told `trials`; `result` is the verdict on them.
WhyNot why_not(const Knobs& knobs, const Space& space, const Search& search,
               const std::vector<Trial>& trials, const TuneResult& result);

}  // namespace ocrtune
