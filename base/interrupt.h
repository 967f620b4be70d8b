// Ctrl-C and SIGTERM as a flag that long work polls, so that what is done is kept.
#pragma once

namespace ocrtune {

// From here on SIGINT, SIGTERM and SIGHUP set the flag; a second one of any kind, 0.3 s later or
// more, ends the process at once with the signal's usual effect. SIGPIPE and SIGXFSZ are ignored:
// a closed pipe and a full ulimit -f are errors of the write. A SIGHUP that was ignored (nohup)
// stays ignored; SIGCHLD does not, for the kernel would throw away how children ended.
//
// Call it before any thread is started: the signals are blocked in all threads and taken by one
// that does nothing else. No handler may run on a working thread, because kernels of oneDNN keep
// something else in the stack pointer (2.6, weight gradients on AVX-512), and the frame of a
// handler then lands in the heap.
void catch_interrupts();

// The usual effect again, nothing blocked: in a forked child, and before exec. nohup still holds.
void release_interrupts();

bool interrupted();

}  // namespace ocrtune
