#include "trial/logs/lost_loss.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(LostLoss, ReadsTheFormsOfTrainers) {
  for (const char* line :
       {"[2026/11/28 10:00:00] ppocr INFO: epoch: [1/10], lr: 0.001, loss: nan, avg_samples: 32",
        "{'loss': nan, 'grad_norm': nan, 'learning_rate': 5e-05, 'epoch': 0.1}",
        "Epoch 0:  12%|#1  | 7/60 [00:01<00:09, 5.60it/s, v_num=3, train_loss=nan.0]",
        "24/120 [=====>....] - ETA: 12s - loss: nan - accuracy: 0.0000e+00", "step 12 CTCLoss: inf",
        "loss tensor(nan, device='cuda:0')", "Train Loss = -inf",
        "iter 100 Loss is nan, stopping"}) {
    EXPECT_EQ(loss_is_number(line), false) << line;
  }
  for (const char* line : {"loss: 2.31", "{'loss': 0.0, 'epoch': 1}", "train_loss=.5",
                           "loss_total: 12", "LOSS 1e-3 samples/s 80", "loss: tensor(2.3)"}) {
    EXPECT_EQ(loss_is_number(line), true) << line;
  }
  for (const char* line : {"80.0 samples/s", "loss function: ctc", "nan values: 0",
                           "loss: nanodet_head", "the loss of information", "cross: nan"}) {
    EXPECT_EQ(loss_is_number(line), std::nullopt) << line;
  }
}

TEST(LostLoss, AStepThatIsLeftOutIsNoLoss) {
  LostLoss watch;
  for (const char* line : {"loss 2.3", "loss nan", "loss inf", "80 samples/s", "loss 2.2"}) {
    watch.read_line(line);
  }
  EXPECT_FALSE(watch.lost());
  for (const char* line :
       {"step 6 loss nan", "80 samples/s", "step 7 loss nan", "step 8 loss nan"}) {
    watch.read_line(line);
  }
  EXPECT_TRUE(watch.lost());
  EXPECT_EQ(watch.line(), "step 6 loss nan");
}

TEST(LossGate, APresentSettingThatLosesItTooSaysNothingOfOthers) {
  const auto judged = [](LossGate& gate, std::optional<bool> present) {
    Trial trial;
    trial.outcome = Outcome::ok;
    trial.lost_loss = "loss nan";
    gate.judge(trial, present);
    return trial.outcome;
  };
  LossGate gate, nobody;
  EXPECT_EQ(judged(gate, false), Outcome::wrong_result);
  EXPECT_EQ(judged(gate, true), Outcome::ok);
  EXPECT_EQ(judged(gate, false), Outcome::ok);
  EXPECT_EQ(judged(nobody, std::nullopt), Outcome::ok);
}

}  // namespace
}  // namespace ocrtune
