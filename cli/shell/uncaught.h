// The end of a program by an exception: what the language and the libraries throw where the system
// is at a limit is said in one line, of a thread as of main.
#pragma once

#include <exception>

namespace ocrtune {

// "the system has no memory to spare (ulimit -v, its group's limit)"; of other exceptions their own
// words. Allocates nothing.
const char* exception_words(const std::exception& error);

// From now on an exception that nobody catches, in a thread or behind noexcept, ends the process
// with "ocrtune: " and its words on stderr, and with this exit code.
void say_uncaught(int exit_code);

}  // namespace ocrtune
