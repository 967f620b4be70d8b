#include "bench/synthetic/function_target.h"

#include <atomic>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "trial/workloads/service/load_generator.h"

namespace ocrtune {
namespace {

TEST(FunctionTarget, AnswersEveryRequestOnce) {
  std::atomic<int> calls{0};
  FunctionTarget target({2, 1}, [&](const std::vector<WaitingRequest>& batch, int thread) {
    EXPECT_EQ(batch.size(), 1u);
    EXPECT_TRUE(thread == 0 || thread == 1);
    ++calls;
    return std::string();
  });
  LoadPlan plan;
  plan.max_requests = 20000;
  plan.max_seconds = 60;
  const LoadResult result = run_load(target, steady_clock(), Arrivals::poisson(400000, 1), plan);
  EXPECT_EQ(result.stop, LoadStop::requests);
  EXPECT_EQ(result.issued, 20000);
  EXPECT_EQ(result.completed, 20000);
  EXPECT_EQ(calls, 20000);
  EXPECT_EQ(result.failed, 0);
  EXPECT_EQ(result.unanswered, 0);
  EXPECT_GT(result.latency.quantile(0.5), 0);
}

TEST(FunctionTarget, BatchesWhatWaits) {
  std::atomic<int> most{0};
  std::atomic<int> requests{0};
  FunctionTarget target({1, 8}, [&](const std::vector<WaitingRequest>& batch, int) {
    const int size = static_cast<int>(batch.size());
    if (size > most) most = size;
    requests += size;
    steady_clock().sleep_seconds(0.001);
    return std::string();
  });
  LoadPlan plan;
  plan.max_requests = 300;
  const LoadResult result = run_load(target, steady_clock(), Arrivals::poisson(20000, 1), plan);
  EXPECT_EQ(result.completed, 300);
  EXPECT_EQ(requests, 300);
  EXPECT_EQ(most, 8);
}

TEST(FunctionTarget, SaysWhyWorkFailed) {
  FunctionTarget target({1, 1}, [](const std::vector<WaitingRequest>& batch, int) {
    return batch[0].kind == 1 ? std::string("no such image") : std::string();
  });
  LoadPlan plan;
  plan.max_requests = 400;
  plan.kind_weights = {1, 1};
  const LoadResult result = run_load(target, steady_clock(), Arrivals::poisson(50000, 1), plan);
  EXPECT_EQ(result.completed, 400);
  EXPECT_GT(result.failed, 100);
  EXPECT_LT(result.failed, 300);
  EXPECT_EQ(result.failure, "no such image");
}

TEST(FunctionTarget, EndsWithWorkStillWaiting) {
  FunctionTarget target({1, 1}, [](const std::vector<WaitingRequest>&, int) {
    steady_clock().sleep_seconds(0.005);
    return std::string();
  });
  for (std::uint64_t i = 0; i < 1000; ++i) target.start(i, 0);
  std::vector<Completion> finished;
  target.collect(0, finished);  // hands over, does not wait
  EXPECT_LE(finished.size(), 1u);
}

}  // namespace
}  // namespace ocrtune
