// The turn of a command that measures: others on this machine wait for its end.
#pragma once

#include <string>

#include "base/result.h"
#include "probes/host/machine_lock.h"

namespace ocrtune {

inline constexpr const char* kNoWaitHelp =
    "Fail if another ocrtune is measuring on this machine, instead of waiting for its end";

std::string waiting_text(const std::string& holder);
void say_waiting(const std::string& holder);  // the same, on stderr

// Takes the machine's lock; one line on stderr says whom it waits for. Errors: MachineLock::take's.
Result<MachineLock> take_turn(bool no_wait);

}  // namespace ocrtune
