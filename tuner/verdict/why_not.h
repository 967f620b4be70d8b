// Why a setting was not chosen: measured, predicted, or not to be launched at all.
#pragma once

#include <string>
#include <vector>

#include "tuner/search/search.h"
#include "tuner/store/run_record.h"
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

// The same of {"nproc=8", "batch=64"}: what is not named stays as the judged `run` recommends it. A
// knob that the run left as the command has it is outside, whatever its number. usage: no such knob
// or value.
Result<WhyNot> why_not(const std::vector<std::string>& assignments, const Space& space,
                       const Search& search, const RunRecord& run);

}  // namespace ocrtune
