// When a machine counts as quiet, and who is named while it is not. Scripted; nobody sleeps.
#include "tuner/session/quiet_wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using testing::HasSubstr;

class ScriptedClock final : public Clock {
 public:
  double now_seconds() override { return now_; }
  void sleep_seconds(double seconds) override { now_ += seconds; }

 private:
  double now_ = 1000;
};

ProcessFacts process(int pid, const char* name, double cpu_seconds) {
  ProcessFacts facts;
  facts.pid = pid;
  facts.name = name;
  facts.cpu_seconds = cpu_seconds;
  return facts;
}

// A machine of two CPUs, of which others use so many until a moment, then next to none.
LookAtMachine machine(Clock& clock, double cpus, double until) {
  return [&clock, cpus, until] {
    const double now = clock.now_seconds();
    const double busy = cpus * std::min(now, until) + 0.01 * std::max(0.0, now - until);
    MachineLook look;
    look.load.seconds = now;
    look.load.total_cpu_seconds = 2 * now;
    look.load.busy_cpu_seconds = busy;
    look.processes = {process(7, "cc1plus", 0.7 * busy), process(8, "python3", 0.2 * busy),
                      process(9, "cc1plus", 0.1 * busy), process(10, "idle", 3)};
    return look;
  };
}

struct Told {
  std::vector<QuietWait> waits;
  std::function<void(const QuietWait&)> tell() {
    return [this](const QuietWait& wait) { waits.push_back(wait); };
  }
};

TEST(QuietWait, AQuietMachineIsTakenAtOnce) {
  ScriptedClock clock;
  Told told;
  const auto wait = wait_until_quiet(600, 2, clock, machine(clock, 0.02, 1e9), told.tell());
  ASSERT_TRUE(wait);
  EXPECT_TRUE(wait->quiet);
  EXPECT_TRUE(told.waits.empty());
  EXPECT_LT(wait->seconds, 10);
}

TEST(QuietWait, GoesOnOnceTheOthersHaveEnded) {
  ScriptedClock clock;
  Told told;
  const auto wait = wait_until_quiet(600, 2, clock, machine(clock, 1.5, 1060), told.tell());
  ASSERT_TRUE(wait);
  EXPECT_TRUE(wait->quiet);
  EXPECT_GT(wait->seconds, 60);
  EXPECT_LT(wait->seconds, 75);
  ASSERT_FALSE(told.waits.empty());
  EXPECT_THAT(told.waits[0].disturbed_by, HasSubstr("other processes used 1.50 CPUs"));
  EXPECT_THAT(told.waits[0].disturbed_by,
              HasSubstr(": cc1plus (pid 7) 1.20, python3 (pid 8) 0.30"));
}

TEST(QuietWait, GivesUpAfterItsTimeAndSaysWhy) {
  ScriptedClock clock;
  Told told;
  const auto wait = wait_until_quiet(30, 2, clock, machine(clock, 0.5, 1e9), told.tell());
  ASSERT_TRUE(wait);
  EXPECT_FALSE(wait->quiet);
  EXPECT_GE(wait->seconds, 30);
  EXPECT_LT(wait->seconds, 36);
  EXPECT_THAT(wait->disturbed_by, HasSubstr("cc1plus (pid 7)"));
}

TEST(QuietWait, APidThatAnotherProcessHasTakenIsThatProcessAlone) {
  MachineLook before, after;
  after.load.seconds = 5;
  before.processes = {process(7, "long", 5000)};
  after.processes = {process(7, "short", 2)};
  after.processes[0].start_ticks = 99;
  EXPECT_EQ(busiest_programs(before, after, 0), "short (pid 7) 0.40");
}

}  // namespace
}  // namespace ocrtune
