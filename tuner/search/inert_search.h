// A knob that changes nothing here, found by an equivalence test and left out of the search.
//
// `threads` reaches a program through variables that it may never read: ONNX Runtime and OpenVINO
// size pools of their own. After the user's setting has run, it and the same with the knob's
// farthest value take turns (A B B A ...), also at the largest batch and the like, for a small one
// may need no second thread. The knob is inert if, over at least two pairs of trials, the 95 %
// intervals of the ratio of rates and of the ratio of CPU seconds a sample lie within
// 1 / 1.07 .. 1.07 and hold no change (or less than 2 %), and as many threads were busy. One clear
// difference ends the test: then the knob matters, and the trials were the search's own. What this
// misses stays in the search; what it calls inert is asked for nothing any more.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/stats.h"
#include "tuner/search/search.h"

namespace ocrtune {

// What the two settings of a pair gave: at the knob's other value over at the user's.
struct InertPair {
  double log_rate = 0;
  double log_cpu_seconds = 0;  // a sample
  double busy_threads = 0;     // difference
};

enum class Effect { unknown, none, some };

struct EffectFound {
  Effect effect = Effect::unknown;
  Interval rate, cpu_seconds;  // ratios, at 95 %
};

// `noise`: relative, between repeats, as is expected; weighs as three pairs.
EffectFound effect_of(const std::vector<InertPair>& pairs, double noise);

// `inner` with the test of one knob in front of it. Spaces without the knob, or where nobody gave a
// setting, get `inner` alone.
std::unique_ptr<Search> make_inert_search(const Space& space, const SearchOptions& options,
                                          const std::string& knob, SearchMaker inner);

// The test alone, for runs that are over: it proposes and predicts nothing.
std::unique_ptr<Search> make_inert_test(const Space& space, const SearchOptions& options);

}  // namespace ocrtune
