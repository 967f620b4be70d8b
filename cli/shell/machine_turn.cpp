#include "cli/shell/machine_turn.h"

#include <cstdio>
#include <string>

namespace ocrtune {

Result<MachineLock> take_turn(bool no_wait) {
  return MachineLock::take(!no_wait, [](const std::string& holder) {
    std::fprintf(stderr, "waiting: %s is measuring on this machine (--no-wait fails instead)\n",
                 holder.c_str());
  });
}

}  // namespace ocrtune
