// The user's own command at the end of a long measurement: a message, a bell, a ticket.
#pragma once

#include <string>

#include "base/result.h"

namespace ocrtune {

struct Notice {
  std::string run;       // id; empty: none was stored
  std::string verdict;   // verdict_name(), or "error"
  std::string sentence;  // the headline, or the error
  std::string page;      // report.html; empty: none was written
};

// Runs `command` in a shell, with OCRTUNE_RUN, OCRTUNE_VERDICT, OCRTUNE_SENTENCE and OCRTUNE_PAGE
// in its environment, for at most 30 s. An error says why it failed, in its own last line.
Status notify(const std::string& command, const Notice& notice);

}  // namespace ocrtune
