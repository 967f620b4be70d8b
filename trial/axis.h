// A knob or a user's dimension, and the values of it that a search may try.
#pragma once

#include <string>
#include <vector>

#include "trial/knobs.h"

namespace ocrtune {

// A dimension whose values are all numbers is a count, in ascending order; other words keep the
// order in which they came.
struct Axis {
  std::string name;
  KnobScale scale = KnobScale::count;
  std::vector<std::string> values;
};

}  // namespace ocrtune
