// OCRTUNE_CHECK(condition): an invariant of our own code. Prints the expression and its place, and
// aborts.
#pragma once

namespace ocrtune {

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace ocrtune

#define OCRTUNE_CHECK(condition)                               \
  do {                                                         \
    if (!(condition)) [[unlikely]]                             \
      ::ocrtune::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
