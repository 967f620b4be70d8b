#include "trial/watch/control_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using testing::HasSubstr;

TEST(ControlHistory, NothingIsUsualBeforeFiveReadings) {
  ControlHistory history;
  for (int i = 0; i < 4; ++i) history.add(100);
  EXPECT_EQ(history.share(50), 0);
  EXPECT_FALSE(history.clearly_slow(50));
  history.add(100);
  EXPECT_NEAR(history.share(50), 0.5, 1e-9);
  EXPECT_TRUE(history.clearly_slow(50));
}

TEST(ControlHistory, SpreadOfTheReadingsIsForgiven) {
  ControlHistory steady, restless;
  for (double rate : {100, 101, 99, 100, 102, 98, 100}) steady.add(rate);
  for (double rate : {100, 110, 85, 100, 120, 90, 112}) restless.add(rate);
  EXPECT_TRUE(steady.clearly_slow(85));
  EXPECT_FALSE(steady.clearly_slow(95));
  EXPECT_FALSE(restless.clearly_slow(85));
}

TEST(ControlHistory, ALastingChangeBecomesTheUsual) {
  ControlHistory history;
  for (int i = 0; i < 20; ++i) history.add(100);
  for (int i = 0; i < 12; ++i) history.add(70);
  EXPECT_FALSE(history.clearly_slow(70));
}

TEST(ControlHistory, IgnoresWhatIsNoReading) {
  ControlHistory history;
  for (int i = 0; i < 9; ++i) history.add(0);
  EXPECT_EQ(history.share(1), 0);
  for (int i = 0; i < 9; ++i) history.add(100);
  EXPECT_EQ(history.share(0), 0);
}

class OneSample : public Runner {
 public:
  Trial run(const Knobs&, const TrialLimits&) override {
    Trial trial;
    trial.outcome = Outcome::ok;
    Sample clean, discarded;
    discarded.interference.spoilt_by = "swap";
    trial.samples = {clean, discarded};
    return trial;
  }
};

TEST(ControlledRunner, MarksTrialsBesideASlowReading) {
  int reading = 0;
  const auto kernel = [&]() { return ++reading == 9 ? 60.0 : 100.0; };
  const auto runner = make_controlled_runner(std::make_unique<OneSample>(), kernel);
  std::vector<int> noisy;
  for (int i = 0; i < 12; ++i) {
    const Trial trial = runner->run({}, {});
    if (trial.samples[0].clean()) continue;
    noisy.push_back(i);
    EXPECT_THAT(trial.samples[0].interference.spoilt_by, HasSubstr("60 %"));
    EXPECT_EQ(trial.samples[1].interference.spoilt_by, "swap");
    EXPECT_NEAR(trial.control_share, 0.6, 1e-9);
  }
  // The ninth reading came after the eighth trial and serves the ninth as well.
  EXPECT_EQ(noisy, (std::vector<int>{7, 8}));
  EXPECT_EQ(reading, 13);
}

TEST(ControlKernel, DoesWork) { EXPECT_GT(control_kernel_rate(2, 0.005), 0); }

}  // namespace
}  // namespace ocrtune
