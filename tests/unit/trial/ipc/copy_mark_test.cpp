#include "trial/ipc/copy_mark.h"

#include <gtest/gtest.h>

#include "trial/logs/log_text.h"

namespace ocrtune {
namespace {

TEST(CopyMark, NamesTheCopyAndIsNoTextOfTheLine) {
  const std::string line = copy_mark(12) + "page 3/50";
  EXPECT_EQ(marked_copy(line), 12);
  EXPECT_EQ(plain_line(line), "page 3/50");
  EXPECT_EQ(without_copy_marks(line + "\n" + copy_mark(0) + "\nplain"), "page 3/50\n\nplain");
}

TEST(CopyMark, OtherEscapesAreNone) {
  EXPECT_FALSE(marked_copy("page 3/50"));
  EXPECT_FALSE(marked_copy("\x1b[32mgreen"));
  EXPECT_FALSE(marked_copy("\x1b[=3"));
  EXPECT_FALSE(marked_copy("\x1b[=-3z"));
}

}  // namespace
}  // namespace ocrtune
