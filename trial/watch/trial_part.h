// One host's part of a trial that runs over several hosts at once.
#pragma once

#include <functional>

namespace ocrtune {

struct TrialPart {
  bool follows = false;            // another part prints the speed; this one ends when it is told
  std::function<void()> measured;  // told once this part knows its speed; it goes on until `ended`
  std::function<bool()> ended;     // every part is to end now; empty: no part of anything
};

}  // namespace ocrtune
