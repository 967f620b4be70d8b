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
        "[03/05 10:11:12] ppdet.engine INFO: Epoch: [0] [20/7329] learning_rate: 0.1 loss: 2.1 "
        "eta: 8:03:12 batch_cost: 2.0 data_cost: 1.5 ips: 4.0 images/s",
        "[03/05 10:11:12 d2.utils.events]:  eta: 5:11:10  iter: 119  total_loss: 2.1  time: 2.0  "
        "last_time: 1.1  data_time: 1.5  last_data_time: 1.4  lr: 0.0001  max_mem: 5120M",
        "Train: 0 [ 100/1251 (  8%)]  Loss: 6.93 (6.94)  Time: 2.0s,  207.45/s  (2.1s,  196.9/s)  "
        "LR: 1.0e-05  Data: 1.5 (1.4)",
        "Epoch: [0][10/500]\tTime  2.0 ( 2.1)\tData  1.5 ( 1.4)\tLoss 6.9e+00 (7.0e+00)"}) {
    EXPECT_NEAR(costs_of(line, 3).data_share, 0.75, 1e-9) << line;
  }
}

TEST(StepCosts, RatesAreReadWithTheirUnits) {
  for (const char* line : {"loss 0.5 880.4 img/s", "ips: 880.4 samples/s, eta: 1:00",
                           "Speed: 880.4 samples/sec accuracy=0.9", "12%| 3/25 [880.4it/s]",
                           "iter 40/300 loss 2.43 tok/s 880.4 dt 0.7s"}) {
    EXPECT_NEAR(costs_of(line, 20).last_rate, 880.4, 1e-9) << line;
  }
  EXPECT_NEAR(costs_of("Epoch 0: 12%|#  | 3/25 [00:01<00:09,  2.50s/it, v_num=3]", 20).last_rate,
              0.4, 1e-9);
  EXPECT_NEAR(costs_of("120/1000 ---- 2:11 250ms/step - loss: 2.1", 20).last_rate, 4, 1e-9);
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

TEST(StepCosts, TheNumberOfAUnitThatStandsBeforeIt) {
  EXPECT_NEAR(costs_of("step 3700 loss=0.5281 img/s=406", 20).last_rate, 406, 1e-9);
  EXPECT_NEAR(costs_of("loss: 0.5281 samples/sec: 99.1", 20).last_rate, 99.1, 1e-9);
}

TEST(StepCosts, ALearningRateOfZeroTeachesNothing) {
  const auto trained = [](double first, double last) {
    return diagnose_text(
        slowing(first, last, "ppocr INFO: epoch: [601/1200], lr: {:.6f}, loss: 2"));
  };
  const Diagnosis nothing = trained(0, 0);
  ASSERT_FALSE(nothing.causes.empty());
  EXPECT_STREQ(nothing.causes[0].row->name, "learning_rate_zero");
  EXPECT_FALSE(nothing.failed);
  EXPECT_TRUE(trained(0, 1e-3).causes.empty()) << "a warm-up";
}

// A curve that does not fall, to the end of the run.
TEST(StepCosts, ALossThatStandsStillTeachesNothing) {
  const auto trained = [](double last, const std::string& end) {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      const double loss = i < 30 ? 3.37 : last;
      text += fmt::format("step {} loss: {:.4f}\n", i, loss + 0.001 * (i % 7) - 1e-4 * i);
    }
    const Diagnosis found = diagnose_text(text + end);
    return found.causes.empty() ? "" : found.causes[0].row->name;
  };
  EXPECT_STREQ(trained(3.37, "training finished\n"), "learnt_nothing");
  EXPECT_STREQ(trained(2.11, "training finished\n"), "");
  EXPECT_STREQ(trained(3.37, ""), "") << "it goes on";
}

TEST(StepCosts, NothingIsReadByAccuracyOrByErrors) {
  for (const char* nothing :
       {"epoch 3 loss 2.1 val_acc 0.0000", "Accuracy report (3) 0.0000",
        "epoch 3 val_loss 2.1 cer: 1.0000", "epoch: [3/9], hmean: 0.0, precision: 0.0"}) {
    EXPECT_TRUE(costs_of(nothing, 12).reads_nothing) << nothing;
  }
  for (const char* some : {"epoch 3 loss 2.1 val_acc 0.0130", "epoch 3 loss 2.1 cer: 0.4121",
                           "epoch 3 loss 0.0 on the accelerator 0", "epoch 3 accumulate 0"}) {
    EXPECT_FALSE(costs_of(some, 12).reads_nothing) << some;
  }
}

// tqdm, and with it the HF Trainer and Lightning, turn the unit over where a step takes longer.
TEST(StepCosts, ABarThatTurnsToSecondsForAStepFell) {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    const double rate = 2.4 / (1 + i / 8.0);
    text += fmt::format(
        "{:3}%|##  | {}/1000 [00:31<03:50, {}]\n", 2 * i, 20 * i,
        rate >= 1 ? fmt::format("{:5.2f}it/s", rate) : fmt::format("{:5.2f}s/it", 1 / rate));
    if (i % 5 == 0) text += "{'loss': 2.1, 'grad_norm': 1.2, 'learning_rate': 4.9e-05}\n";
  }
  const Diagnosis fell = diagnose_text(text);
  ASSERT_FALSE(fell.causes.empty());
  EXPECT_STREQ(fell.causes[0].row->name, "throughput_fell");
}

// The conversion of the data set and the evaluation have bars of their own.
TEST(StepCosts, BarsOfOtherLengthAreOtherWork) {
  std::string text;
  const auto bar = [&](int steps, int of, double rate) {
    for (int i = 1; i <= steps; ++i)
      text += fmt::format("{}%|#  | {}/{} [00:31<03:50, {:5.2f}it/s]\n", i, i, of, rate);
  };
  bar(25, 500, 900);
  bar(60, 1000, 4);
  bar(25, 50, 1.1);
  EXPECT_TRUE(diagnose_text(text).causes.empty());
}

TEST(StepCosts, TheProfileOfLightningNamesItsLoader) {
  const char* row =
      "|  [_TrainingEpochLoop].train_dataloader_next  |  0.90075        |  100            |  "
      "90.075         |  {}              |\n";
  const auto causes = [&](const char* percent) {
    return diagnose_text("FIT Profiler Report\n" + fmt::format(fmt::runtime(row), percent)).causes;
  };
  ASSERT_FALSE(causes("75.0").empty());
  EXPECT_STREQ(causes("75.0")[0].row->name, "data_loading_bound");
  EXPECT_TRUE(causes("5.0").empty());
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
