// The lock is MachineLock's; here are the words.
#include "cli/shell/machine_turn.h"

#include "cli/shell/terminal.h"
#include "reports/catalogue/plain_text.h"

namespace ocrtune {

std::string waiting_text(const std::string& holder) {
  return terminal_text("waiting: {} is measuring on this machine (--no-wait fails instead)",
                       {plain_line(holder)});
}

void say_waiting(const std::string& holder) { say_line(waiting_text(holder)); }

Result<MachineLock> take_turn(bool no_wait) { return MachineLock::take(!no_wait, say_waiting); }

}  // namespace ocrtune
