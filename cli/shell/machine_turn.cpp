// The lock is MachineLock's; here are the words.
#include "cli/shell/machine_turn.h"

#include <cstdio>

#include "cli/shell/terminal.h"

namespace ocrtune {

std::string waiting_text(const std::string& holder) {
  return terminal_text("waiting: {} is measuring on this machine (--no-wait fails instead)",
                       {holder});
}

void say_waiting(const std::string& holder) {
  std::fprintf(stderr, "%s\n", waiting_text(holder).c_str());
}

Result<MachineLock> take_turn(bool no_wait) { return MachineLock::take(!no_wait, say_waiting); }

}  // namespace ocrtune
