#include "diagnosis/context/step_costs.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/diagnosis.h"

namespace ocrtune {
namespace {

StepCosts costs_of(const std::string& line, int times) {
  StepCostReader reader;
  for (int i = 0; i < times; ++i) reader.take_line(line);
  return reader.costs();
}

TEST(StepCosts, WaitingForDataIsReadInTheWordsOfTrainers) {
  for (const char* line :
       {"epoch: [1/9], loss: 1.1, avg_reader_cost: 1.5 s, avg_batch_cost: 2.0 s, ips: 64",
        "Epoch(train) [1][50/900]  lr: 1e-03  time: 2.0  data_time: 1.5  memory: 50  loss: 1.2",
        "Epoch [1][100/7962] lr: 1.0e-04, time: 2.0, data_time: 1.5, memory: 5120, loss: 2.1",
        "step 7 loss=2.1 data_time=1.5 step_time=2.0",
        "Epoch: [0][10/500]\tTime  2.0 ( 2.1)\tData  1.5 ( 1.4)\tLoss 6.9e+00 (7.0e+00)"}) {
    EXPECT_NEAR(costs_of(line, 3).data_share, 0.75, 1e-9) << line;
  }
}

TEST(StepCosts, RatesAreReadWithTheirUnits) {
  for (const char* line : {"loss 0.5 880.4 img/s", "ips: 880.4 samples/s, eta: 1:00",
                           "Speed: 880.4 samples/sec accuracy=0.9", "12%| 3/25 [880.4it/s]"}) {
    EXPECT_NEAR(costs_of(line, 20).last_rate, 880.4, 1e-9) << line;
  }
  EXPECT_EQ(costs_of("3/25 [00:01<00:09, 2.25s/it]", 20).last_rate, 0);
}

std::string slowing(double first, double last, const char* line) {
  std::string text;
  for (int i = 0; i < 60; ++i)
    text += fmt::format(fmt::runtime(line), i < 30 ? first : last) + "\n";
  return text;
}

TEST(StepCosts, ARateThatFallsIsSlowness) {
  const Diagnosis fell = diagnose_text(slowing(880, 205, "step loss: 0.5 {} img/s"));
  ASSERT_FALSE(fell.causes.empty());
  EXPECT_STREQ(fell.causes[0].row->name, "throughput_fell");
  EXPECT_FALSE(fell.failed);
  EXPECT_TRUE(diagnose_text(slowing(880, 850, "step loss: 0.5 {} img/s")).causes.empty());
}

// Good at first, and at the end nearly all of the step: the mean of the run would hide it.
TEST(StepCosts, TheLastStepsSayWhatIsWaitedFor) {
  const Diagnosis waits = diagnose_text(slowing(
      0.02, 9.0, "2021-09-26 10:02:11 - mmocr - INFO - time: 9.4, data_time: {}, loss: 2.1"));
  ASSERT_FALSE(waits.causes.empty());
  EXPECT_STREQ(waits.causes[0].row->name, "data_loading_bound");
  EXPECT_GT(waits.causes[0].confidence, 0.85);
  EXPECT_THAT(waits.causes[0].evidence[0].text, testing::HasSubstr("at first"));
}

}  // namespace
}  // namespace ocrtune
