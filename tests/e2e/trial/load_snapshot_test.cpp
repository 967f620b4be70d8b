#include <unistd.h>

#include <string>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/process_tree.h"
#include "trial/observe/interference.h"
#include "trial/observe/short_lives.h"

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

// A server that somebody else has started is measured: what it computes is no other load.
TEST(LoadSnapshot, TheWorkOfAServerThatRunsAlreadyIsOwn) {
  ProcessTree nothing, server;
  ProcessOptions options;
  options.arguments = {"sh", "-c", "while :; do :; done"};
  ASSERT_TRUE(server.start(options).ok());
  const auto take = [&](bool measured) {
    server.scan();
    return take_load_snapshot(FileRoot(), nothing, steady_clock().now_seconds(),
                              measured ? server.members() : std::vector<ProcessFacts>());
  };
  const LoadSnapshot apart = take(false), before = take(true);
  steady_clock().sleep_seconds(0.5);
  const LoadSnapshot after = take(true), apart_after = take(false);
  const auto own = interference_between(before, after, LoadDemand());
  const auto other = interference_between(apart, apart_after, LoadDemand());
  EXPECT_GT(own.cpu_seconds, other.cpu_seconds);
  EXPECT_LT(own.external_cpus, other.external_cpus);
}

// One process after another, each of which computes for some hundredths of a second.
TEST(ShortLives, SeeHowLongProcessesThatEndedCouldRun) {
  if (!path_exists("/proc/self/task/" + std::to_string(::getpid()) + "/children")) {
    GTEST_SKIP() << "this kernel does not list children";
  }
  ProcessTree tree;
  ProcessOptions options;
  options.arguments = {
      "sh", "-c", "while :; do sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done'; done"};
  ASSERT_TRUE(tree.start(options).ok());
  Clock& clock = steady_clock();
  ShortLives lives;
  lives.look(clock.now_seconds());
  EXPECT_EQ(lives.take(tree).looked_seconds, 0) << "nothing has begun";
  tree.scan();
  lives.begin(tree);
  const double begin = clock.now_seconds();
  BriefLives brief;
  do {
    for (int i = 0; i < 100; ++i) {
      clock.sleep_seconds(0.01);
      lives.look(clock.now_seconds());
    }
    tree.scan();
    brief = lives.take(tree);
  } while (brief.runnable_seconds.empty() && clock.now_seconds() - begin < 60);
  ASSERT_EQ(brief.runnable_seconds.size(), 1U);
  EXPECT_EQ(brief.runnable_seconds.begin()->first, tree.roots()[0]->pid());
  EXPECT_GT(brief.runnable_seconds.begin()->second, 0);
  EXPECT_LE(brief.runnable_seconds.begin()->second, brief.looked_seconds * 1.001)
      << "one at a time";
  EXPECT_GE(brief.max_threads, 1);
  EXPECT_GE(brief.working_seconds, brief.runnable_seconds.begin()->second * 0.999);
}

}  // namespace
}  // namespace ocrtune
