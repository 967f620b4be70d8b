// Written by write(2): where memory is what lacks, stdio may not be able to.
#include "cli/shell/uncaught.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>

namespace ocrtune {
namespace {

int g_exit_code = 0;

void say(const char* text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
}

[[noreturn]] void end_process() noexcept {
  try {
    if (const auto error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::exception& error) {
    say("ocrtune: ");
    say(exception_words(error));
    say("\n");
    ::_exit(g_exit_code);
  } catch (...) {
  }
  // Not an exception of std::exception's kind, or none at all: a broken invariant.
  std::abort();
}

}  // namespace

const char* exception_words(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return "the system has no memory to spare (ulimit -v, its group's limit)";
  }
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) {
    return "the system has no thread to spare (ulimit -u, pids.max)";
  }
  return error.what();
}

void say_uncaught(int exit_code) {
  g_exit_code = exit_code;
  std::set_terminate(end_process);
}

}  // namespace ocrtune
