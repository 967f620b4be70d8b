#include "trial/observe/open_files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(OpenFiles, CountsAgainstTheProcesssOwnLimit) {
  ProcessFacts self;
  self.pid = ::getpid();
  const auto before = fullest_file_table({self});
  ASSERT_TRUE(before);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(before->limit, static_cast<std::int64_t>(limit.rlim_cur));
  std::vector<int> files;
  for (int i = 0; i < 7; ++i) files.push_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(fullest_file_table({self})->open, before->open + 7);
  for (int file : files) ::close(file);
}

TEST(OpenFiles, AProcessThatIsGoneSaysNothing) {
  ProcessFacts gone;
  gone.pid = 1 << 30;
  EXPECT_FALSE(fullest_file_table({gone}));
}

}  // namespace
}  // namespace ocrtune
