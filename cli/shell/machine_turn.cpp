#include "cli/shell/machine_turn.h"

#include <cstdio>

namespace ocrtune {

void say_waiting(const std::string& holder) {
  std::fprintf(stderr, "waiting: %s is measuring on this machine (--no-wait fails instead)\n",
               holder.c_str());
}

Result<MachineLock> take_turn(bool no_wait) { return MachineLock::take(!no_wait, say_waiting); }

}  // namespace ocrtune
