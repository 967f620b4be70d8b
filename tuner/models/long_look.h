// What trials of seconds cannot show: a warm-up that outlasts them, a rate that falls later.
//
// What a tune has left of its budget goes into one long trial of the user's start and one of the
// winner. Where their later half is clearly faster or slower than their beginning, which is all
// that the other trials saw, rates are those of the later half; where pauses recur, of them all.
#pragma once

#include <vector>

#include "trial/trial.h"
#include "tuner/recommendation.h"

namespace ocrtune {

inline constexpr const char* kLongPhase = "long";  // of such a trial

struct LongLook {
  double change = 1;         // rate(later half) / rate(beginning), geometric mean; 1: alike
  double first_seconds = 0;  // the beginning: what a usual trial of the run measures
  double seconds = 0;        // that the longest of the long trials measured; 0: there is none
  bool changes() const { return change != 1; }
};

LongLook long_look(const std::vector<Trial>& trials);

// The later half of a trial that was measured for longer.
Trial later_half(Trial trial);

// The trials by their rates after `look`: long ones are the part that lasts, the others are scaled
// to that of their own setting, or else, as nobody saw how long theirs lasts, by the least factor
// of such settings. Untouched where nothing changes. `cold`: trials beside them, scaled alike.
std::vector<Trial> by_long_look(std::vector<Trial> trials, const LongLook& look,
                                std::vector<Trial>* cold = nullptr);

Reason long_look_reason(const LongLook& look);  // empty: nothing changes

}  // namespace ocrtune
