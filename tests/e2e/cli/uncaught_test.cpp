#include "cli/shell/uncaught.h"

#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(Uncaught, AThreadWithoutMemoryEndsTheProcessWithOneLine) {
  EXPECT_EXIT(
      {
        say_uncaught(3);
        std::thread([] { throw std::bad_alloc(); }).join();
      },
      testing::ExitedWithCode(3), "^ocrtune: the system has no memory to spare");
}

TEST(Uncaught, WordsAreThoseOfTheLimit) {
  const std::system_error no_thread(
      std::make_error_code(std::errc::resource_unavailable_try_again));
  EXPECT_STREQ(exception_words(no_thread),
               "the system has no thread to spare (ulimit -u, pids.max)");
  EXPECT_STREQ(exception_words(std::runtime_error("odd")), "odd");
}

}  // namespace
}  // namespace ocrtune
