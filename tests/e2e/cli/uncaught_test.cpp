#include "cli/shell/uncaught.h"

#include <new>
#include <stdexcept>
#include <string>
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
      testing::ExitedWithCode(3), "^ocrtune: .* no memory to spare");
}

TEST(Uncaught, WordsAreThoseOfTheLimit) {
  const std::system_error no_thread(
      std::make_error_code(std::errc::resource_unavailable_try_again));
  EXPECT_NE(std::string(exception_words(no_thread)).find("no thread to spare"), std::string::npos);
  EXPECT_STREQ(exception_words(std::runtime_error("odd")), "odd");
}

}  // namespace
}  // namespace ocrtune
