#include "cli/shell/machine_turn.h"

#include <cstdio>

namespace ocrtune {

std::string waiting_text(const std::string& holder) {
  return "waiting: " + holder + " is measuring on this machine (--no-wait fails instead)";
}

void say_waiting(const std::string& holder) {
  std::fprintf(stderr, "%s\n", waiting_text(holder).c_str());
}

Result<MachineLock> take_turn(bool no_wait) { return MachineLock::take(!no_wait, say_waiting); }

}  // namespace ocrtune
