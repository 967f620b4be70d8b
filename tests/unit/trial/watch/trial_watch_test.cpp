// What ends a trial: each watch against a clock that the test turns.
#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "trial/table_runner.h"
#include "trial/watch/exit_watch.h"
#include "trial/watch/silence_watch.h"
#include "trial/watch/window_watch.h"

namespace ocrtune {
namespace {

constexpr double kTurn = 0.1;

// Turns the clock until the watch finds a reason, at most for `seconds`: the time of the reason.
template <typename Watch>
std::optional<double> reason_at(Watch& watch, CountingClock& clock, double seconds) {
  const double end = clock.now_seconds() + seconds;
  while (clock.now_seconds() < end) {
    clock.sleep_seconds(kTurn);
    if (watch.look(clock.now_seconds())) return clock.now_seconds();
  }
  return std::nullopt;
}

struct Silence {
  double cpus = 0;  // that the tree uses
  CountingClock clock;
  SilenceWatch watch;

  explicit Silence(double expected_step_seconds, int processes = 1)
      : watch({.min_seconds = 10, .step_factor = 5, .busy_factor = 4, .start_seconds = 30},
              expected_step_seconds, [this](bool) { return cpus * clock.now_seconds(); }) {
    for (int i = 0; i < processes; ++i) watch.add_process(clock.now_seconds());
  }
  std::optional<double> hung_at(double seconds) { return reason_at(watch, clock, seconds); }
};

TEST(SilenceWatch, WaitsLongerBeforeTheFirstStep) {
  Silence started(0);
  started.watch.add_step(0.5);
  EXPECT_NEAR(started.hung_at(100).value_or(0), 10, 2 * kTurn);
  Silence not_started(0);
  EXPECT_NEAR(not_started.hung_at(100).value_or(0), 30, 2 * kTurn);
}

TEST(SilenceWatch, EachSignOfLifeBeginsAnew) {
  Silence silence(0);
  silence.watch.add_step(0.5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(silence.hung_at(9));
    silence.watch.hear(0, silence.clock.now_seconds());
  }
  const double last = silence.clock.now_seconds();
  EXPECT_NEAR(silence.hung_at(100).value_or(0), last + 10, 2 * kTurn);
}

TEST(SilenceWatch, LongStepsAndWorkStretchIt) {
  Silence expected(4);
  expected.watch.add_step(4);
  EXPECT_NEAR(expected.hung_at(100).value_or(0), 20, 2 * kTurn);
  Silence measured(0);
  for (int i = 0; i < 3; ++i) measured.watch.add_step(6);
  EXPECT_NEAR(measured.hung_at(100).value_or(0), 30, 2 * kTurn);
  Silence busy(0);
  busy.watch.add_step(0.5);
  busy.cpus = 1;
  EXPECT_NEAR(busy.hung_at(100).value_or(0), 40, 2 * kTurn);
}

TEST(SilenceWatch, NamesTheRankThatIsSilent) {
  Silence silence(0, 3);
  silence.watch.add_step(0.5);
  std::optional<TrialStop> found;
  while (!found && silence.clock.now_seconds() < 60) {
    silence.clock.sleep_seconds(kTurn);
    silence.watch.hear(0, silence.clock.now_seconds());
    silence.watch.hear(2, silence.clock.now_seconds());
    silence.watch.hear(7, silence.clock.now_seconds());  // there is no such process
    found = silence.watch.look(silence.clock.now_seconds());
  }
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->cause, StopCause::hung);
  EXPECT_EQ(found->reason.rfind("rank 1 ", 0), 0U) << found->reason;
}

struct Exits {
  std::map<std::size_t, double> ends;  // process -> when
  CountingClock clock;
  ExitWatch watch{[this](std::size_t i) -> std::optional<ProcessExit> {
    const auto end = ends.find(i);
    if (end == ends.end() || clock.now_seconds() < end->second) return std::nullopt;
    return ProcessExit{static_cast<int>(i), 0, 0, 0};
  }};
};

TEST(ExitWatch, TheOthersHaveAMomentToSayWhy) {
  Exits exits;
  for (int i = 0; i < 3; ++i) exits.watch.add_process();
  exits.ends = {{1, 2.0}, {0, 2.15}};
  EXPECT_NEAR(reason_at(exits.watch, exits.clock, 60).value_or(0), 2.3, 2 * kTurn);
  ASSERT_EQ(exits.watch.exits().size(), 2U);
  EXPECT_EQ(exits.watch.exits()[0].rank, 1) << "in the order of their ends";
  EXPECT_EQ(exits.watch.exits()[1].rank, 0);
  EXPECT_FALSE(exits.watch.all_ended());
}

TEST(ExitWatch, NobodyIsWaitedForOnceAllHaveEnded) {
  Exits exits;
  exits.watch.add_process();
  exits.ends = {{0, 2.0}};
  exits.clock.sleep_seconds(1.95);
  EXPECT_FALSE(exits.watch.look(exits.clock.now_seconds()));
  exits.clock.sleep_seconds(0.1);
  EXPECT_TRUE(exits.watch.look(exits.clock.now_seconds()));
  EXPECT_TRUE(exits.watch.all_ended());
  EXPECT_EQ(exits.watch.exits().size(), 1U);
}

TEST(ExitWatch, AFailureThatIsNoExitEndsItToo) {
  Exits exits;
  exits.watch.add_process();
  EXPECT_FALSE(reason_at(exits.watch, exits.clock, 10));
  const double failed = exits.clock.now_seconds();
  exits.watch.fail(failed);
  exits.watch.fail(failed + 5);  // the first one counts
  EXPECT_TRUE(exits.watch.failing());
  EXPECT_NEAR(reason_at(exits.watch, exits.clock, 60).value_or(0), failed + 0.3, 2 * kTurn);
}

StepEvent one_step(std::int64_t samples) {
  StepEvent step;
  step.samples = samples;
  step.seconds = 0.125;
  return step;
}

// One rank whose steps take an eighth of a second, observed from one look to the next.
struct Windows {
  CountingClock clock;
  double looked = 0, unseen = 0;  // seconds of each window between its looks that nobody saw
  WindowWatch watch{1, 1.0};

  WindowWatch::Observe observe() {
    return [this](Interference& found) {
      const double seconds = clock.now_seconds() - looked - unseen;
      looked = clock.now_seconds();
      found.observed_seconds = seconds;
      return seconds;
    };
  }
  std::optional<std::string> step(std::int64_t samples) {
    clock.sleep_seconds(0.125);
    watch.add(one_step(samples));
    return watch.look(observe());
  }
};

TEST(WindowWatch, EndsWhenTheAimIsMeasured) {
  Windows windows;
  windows.watch.begin();
  const std::int64_t samples[] = {9, 11, 8, 12, 10, 9, 12};
  for (const std::int64_t one : samples) EXPECT_FALSE(windows.step(one));
  EXPECT_TRUE(windows.step(10));
  EXPECT_NEAR(windows.clock.now_seconds(), 1.0, 1e-9);
  EXPECT_EQ(windows.watch.closed(), 8);
}

TEST(WindowWatch, StepsOfOneReadAreOneWindow) {
  Windows windows;
  windows.watch.begin();
  for (int i = 0; i < 3; ++i) {
    windows.clock.sleep_seconds(0.125);
    windows.watch.add(one_step(10));
  }
  windows.watch.look(windows.observe());
  EXPECT_EQ(windows.watch.closed(), 3);
  Trial trial;
  trial.outcome = Outcome::ok;
  windows.watch.report(0, trial);
  ASSERT_EQ(trial.samples.size(), 1U);
  EXPECT_NEAR(trial.samples[0].seconds, 0.375, 1e-9);
  EXPECT_NEAR(trial.samples_per_second, 80, 1e-6);
}

TEST(WindowWatch, AWindowThatNobodySawIsNotValid) {
  Windows windows;
  windows.unseen = 0.1;
  windows.watch.begin();
  windows.step(10);
  Trial trial;
  windows.watch.report(0, trial);
  ASSERT_EQ(trial.samples.size(), 1U);
  EXPECT_FALSE(trial.samples[0].clean());
  EXPECT_EQ(trial.samples[0].interference.observed_seconds, 0);
}

TEST(WindowWatch, ForgetsWhatTheReaderTakesBack) {
  Windows windows;
  windows.watch.begin();
  for (int i = 0; i < 4; ++i) windows.step(10);
  EXPECT_TRUE(windows.watch.any());
  windows.watch.forget();
  EXPECT_FALSE(windows.watch.any());
  EXPECT_EQ(windows.watch.closed(), 0);
  int more = 1;
  while (!windows.step(9 + more % 3) && more < 100) ++more;
  EXPECT_GE(more, 4) << "what was void counted towards the aim";
}

// That this program has asked for and not given back; 0 where an allocator does not say it.
std::size_t held_bytes() {
  const auto facts = mallinfo2();
  return facts.uordblks + facts.hblkhd;
}

// A second of steps by each event, a million of them: days.
TEST(WindowWatch, ManyStepsTakeNoMoreRoomAndEachCounts) {
  constexpr std::int64_t kEvents = 1'000'000, kSteps = 20'000;
  Windows windows;
  windows.watch.begin();
  const std::size_t before = held_bytes();
  for (std::int64_t i = 0; i < kEvents; ++i) {
    StepEvent step = one_step(0);
    step.rank = 1;  // not of the windows
    step.steps = kSteps;
    step.seconds = kSteps * 1e-6 * static_cast<double>(1 + i % 100);
    windows.watch.add(step);
  }
  EXPECT_LT(held_bytes(), before + (1 << 20));
  Trial trial;
  windows.watch.report(0, trial);
  EXPECT_EQ(trial.latency.steps, kEvents * kSteps);
  EXPECT_NEAR(trial.latency.p50_seconds, 50e-6, 0.01 * 50e-6);
  EXPECT_NEAR(trial.latency.p99_seconds, 99e-6, 0.01 * 99e-6);
}

TEST(WindowWatch, AResultOfTheProcessItselfReplacesThem) {
  Windows windows;
  windows.watch.begin();
  for (int i = 0; i < 4; ++i) windows.step(10);
  ResultEvent result;
  result.samples_per_second = 33;
  result.seconds = 4;
  result.samples = 132;
  windows.watch.replace(result, windows.observe());
  Trial trial;
  trial.outcome = Outcome::ok;
  windows.watch.report(0, trial);
  ASSERT_EQ(trial.samples.size(), 1U);
  EXPECT_EQ(trial.samples_per_second, 33);
  trial.outcome = Outcome::crashed;
  windows.watch.report(0, trial);
  EXPECT_EQ(trial.samples_per_second, 0);
}

}  // namespace
}  // namespace ocrtune
