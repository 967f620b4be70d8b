// A thread of this program that reads pictures as a loader does: each is open for some
// microseconds.
#include "trial/stages/open_files.h"

#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"

namespace ocrtune {
namespace {

TEST(OpenFiles, PicturesThatAreClosedAtOnce) {
  constexpr int kPictures = 50;
  constexpr double kPatience = 30;  // seconds
  const std::string folder = real_path(make_temporary_directory("pictures").value()).value();
  for (int i = 0; i < kPictures; ++i) {
    ASSERT_TRUE(write_file(fmt::format("{}/{}.jpg", folder, i), std::string(20000, 'x')));
  }
  OpenFiles files;
  files.look(::getpid(), true);
  std::atomic<bool> stop{false};
  std::thread loader([&] {
    for (int i = 0; !stop; i = (i + 1) % kPictures) {
      EXPECT_TRUE(read_file(fmt::format("{}/{}.jpg", folder, i)));
      steady_clock().sleep_seconds(0.0005);
    }
  });
  StageUse use;
  const double begin = steady_seconds();
  while (use.opened_count < kPictures && steady_seconds() - begin < kPatience) {
    for (int i = 0; i < 100; ++i) files.glance();
    use = StageUse();
    files.fill(use);
  }
  stop = true;
  loader.join();
  EXPECT_EQ(use.opened_count, kPictures);
  EXPECT_EQ(use.opened_bytes, 20000u * kPictures);
  EXPECT_TRUE(remove_tree(folder));
}

}  // namespace
}  // namespace ocrtune
