#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/process_tree.h"
#include "trial/observe/interference.h"

namespace ocrtune {
namespace {

TEST(LoadSnapshot, SeesTheTreesOwnWork) {
  ProcessTree tree;
  ProcessOptions options;
  options.arguments = {"sh", "-c", "while :; do :; done"};
  ASSERT_TRUE(tree.start(options).ok());
  tree.scan();
  const LoadSnapshot before = take_load_snapshot(FileRoot(), tree, steady_clock().now_seconds());
  steady_clock().sleep_seconds(0.3);
  tree.refresh();
  const LoadSnapshot after = take_load_snapshot(FileRoot(), tree, steady_clock().now_seconds());
  if (!after.has_thread_times) GTEST_SKIP() << "this kernel keeps no schedstat";
  double ran = 0;
  for (const auto& [thread, times] : after.threads) ran += times.run_seconds + times.wait_seconds;
  EXPECT_GT(ran, 0.1) << "a spinning shell runs or waits to run";
  EXPECT_GE(after.busy_cpu_seconds, before.busy_cpu_seconds);
}

}  // namespace
}  // namespace ocrtune
