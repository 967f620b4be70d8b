// Ctrl-C and SIGTERM as a flag that long work polls, so that what is done is kept.
#pragma once

namespace ocrtune {

// From here on SIGINT, SIGTERM and SIGHUP set the flag; a second one ends the process at once with
// the signal's usual effect. SIGPIPE is ignored, so a closed pipe is an error of the write.
void catch_interrupts();

bool interrupted();

}  // namespace ocrtune
