#include "trial/workloads/service/server_queue.h"

#include <cmath>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(QueuedRequests, WaitForASlot) {
  QueuedRequests queue({2, 1.0});
  EXPECT_DOUBLE_EQ(queue.latency_seconds(0), 1);
  EXPECT_DOUBLE_EQ(queue.latency_seconds(0.5), 1);
  EXPECT_DOUBLE_EQ(queue.latency_seconds(0.75), 1.25);  // from 1 to 2
  EXPECT_DOUBLE_EQ(queue.latency_seconds(0.75), 1.75);  // from 1.5 to 2.5
  EXPECT_DOUBLE_EQ(queue.latency_seconds(9), 1);
}

TEST(QueuedRequests, AreTurnedAwayWhereTheServerSheds) {
  QueuedRequests queue({1, 1.0, 0, true});
  EXPECT_DOUBLE_EQ(queue.latency_seconds(0), 1);
  EXPECT_TRUE(std::isinf(queue.latency_seconds(0.5)));
  EXPECT_DOUBLE_EQ(queue.latency_seconds(1.5), 1);
}

// One slot that sheds answers 1 / (1 + rate x service) of the requests (Erlang B).
TEST(QueuedShare, IsThatOfALongRun) {
  EXPECT_NEAR(queued_share({1, 0.5, 0, true}, {0.95, 0.6}, 2, 400000).late, 0.5, 0.005);
  EXPECT_EQ(queued_share({1, 0.5, 0, true}, {0.95, 0.4}, 2, 1000).late, 1);
  const QueuedShare waits = queued_share({1, 0.05}, {0.95, 0.4}, 16.2, 400000);
  EXPECT_NEAR(waits.late, 0.05, 0.01);
  EXPECT_GT(waits.design_effect, 5) << "late requests of a queue come in clusters";
}

}  // namespace
}  // namespace ocrtune
