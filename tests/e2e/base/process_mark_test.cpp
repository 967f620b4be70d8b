// Whose a process is: asked by trees of several threads at once, and by forked copies.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "base/orphan_guard.h"
#include "base/thread_team.h"

namespace ocrtune {
namespace {

TEST(ProcessMark, IsOneForAllThreads) {
  std::array<std::string, 8> marks;
  ASSERT_TRUE(run_team(marks.size(), [&](std::size_t i) { marks[i] = process_mark(); }));
  for (const std::string& mark : marks) EXPECT_EQ(mark, process_mark());
}

TEST(ProcessMark, AForkedCopyHasAnother) {
  const std::string own = process_mark();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(process_mark() == own ? 1 : 0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(process_mark(), own);
}

}  // namespace
}  // namespace ocrtune
