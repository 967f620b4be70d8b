// Whole tunes of 60 simulated seconds among strangers that never rest: the search, the trials with
// their windows and stopping rule, the store and the verdict are those of `ocrtune tune`; only the
// clock and the machine are played.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "reports/catalogue/headline.h"
#include "reports/catalogue/reasons.h"
#include "reports/catalogue/verdict.h"
#include "tests/support/busy_trial.h"
#include "trial/observe/undisturbed_rate.h"
#include "trial/table_runner.h"
#include "tuner/session/session.h"
#include "tuner/verdict/beside_load.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kBudgetSeconds = 60;

// How much dearer a step gets with each process beyond the first: from 1, where two of them do
// twice the work, to more than the second CPU can give.
struct PlayedMachine {
  double dearer = 1;
  StrangerLoad strangers;
  std::uint64_t seed = 0;
};

class BusyRunner final : public Runner {
 public:
  BusyRunner(Clock& clock, const PlayedMachine& machine)
      : clock_(clock), machine_(machine), random_(machine.seed) {}

  Trial run(const Knobs& knobs, const TrialLimits& limits) override {
    ScheduledProgram program;
    program.ranks = knobs.nproc;
    program.step_seconds *= std::pow(machine_.dearer, knobs.nproc - 1) * (1 + 8.0 / knobs.batch);
    Trial trial;
    trial.knobs = knobs;
    trial.outcome = Outcome::ok;
    trial.peak_bytes = trial.host_peak_bytes = static_cast<std::uint64_t>(knobs.nproc) << 28;
    trial.start_seconds = 0.5;
    trial.samples =
        busy_samples(program, machine_.strangers, limits.measure_seconds, 0.1, random_.next());
    trial.seconds = trial.start_seconds;
    for (const Sample& sample : trial.samples) trial.seconds += sample.seconds;
    trial.samples_per_second = undisturbed_rate(trial.samples).samples_per_second;
    clock_.sleep_seconds(trial.seconds);
    return trial;
  }

 private:
  Clock& clock_;
  PlayedMachine machine_;
  Random random_;
};

class NeverQuiet : public testing::Test {
 protected:
  void SetUp() override {
    // Each trial is made durable, which takes a disk most of the time.
    if (is_directory("/dev/shm")) ::setenv("TMPDIR", "/dev/shm", 0);
    folder_ = *make_temporary_directory("never_quiet_test");
    ::setenv("OCRTUNE_LOCK_DIR", folder_.c_str(), 1);
    store_ = *Store::open(join_path(folder_, "runs.sqlite"), Store::Mode::write);
  }
  void TearDown() override {
    ::unsetenv("OCRTUNE_LOCK_DIR");
    store_.reset();
    EXPECT_TRUE(remove_tree(folder_));
  }

  // Also the seconds that it took, by the played clock.
  Result<RunRecord> tuned(const PlayedMachine& played, double& seconds) {
    Machine machine;
    machine.cpu.logical_cpus = kBusyCpus;
    machine.memory.available_bytes = 8ULL << 30;
    CountingClock clock;
    SessionDoors doors;
    doors.clock = &clock;
    doors.probe = [&](const ProbeOptions&) { return Result<Machine>(machine); };
    doors.runner = [&](const Job&, const SearchRequest&, const Machine&) {
      return Result<std::unique_ptr<Runner>>(std::make_unique<BusyRunner>(clock, played));
    };
    TuneRequest request;
    request.search.axes = {{"nproc", {"1", "2", "3"}},   {"threads", {"1"}},
                           {"batch", {"8", "16", "32"}}, {"workers", {"0"}},
                           {"binding", {"none"}},        {"precision", {"fp32"}}};
    request.search.budget_seconds = kBudgetSeconds;
    request.search.trial_seconds = 1;
    request.machine = machine;
    SessionObserver nobody;
    auto run = tune(request, *store_, nobody, doors);
    seconds = clock.now_seconds();
    return run;
  }

  std::string folder_;
  std::unique_ptr<Store> store_;
};

// In turn more processes are faster, as fast, and so much slower that nobody doubts the start.
PlayedMachine played_machine(std::uint64_t seed) {
  PlayedMachine played;
  played.seed = seed;
  played.dearer = seed % 3 == 0 ? 1.0 : seed % 3 == 1 ? 2.0 : 8.0;
  played.strangers = {2 + static_cast<int>(seed % 2), 1.0};
  played.strangers.period_seconds = 0.5 + 0.1 * static_cast<double>(seed % 40);
  return played;
}

// Samples a second of a setting beside the strangers, over minutes.
double rate_beside(const PlayedMachine& played, const Knobs& knobs) {
  CountingClock clock;
  BusyRunner runner(clock, played);
  TrialLimits limits;
  limits.measure_seconds = 120;
  return measured_rate(runner.run(knobs, limits));
}

// What is claimed beside the load holds beside the load, and hardly ever nothing is claimed where
// settings are far apart.
TEST_F(NeverQuiet, ATuneOfAMinuteAnswersForTheMachineAsItIs) {
  int used = 0, wrong = 0, apart = 0, settled = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const PlayedMachine played = played_machine(seed);
    double seconds = 0;
    const auto run = tuned(played, seconds);
    ASSERT_TRUE(run) << run.error().what;
    ASSERT_TRUE(run->result.found) << seed;
    EXPECT_GT(run->trials.size(), 5U) << seed;
    EXPECT_LE(seconds, 1.05 * kBudgetSeconds) << seed;
    ASSERT_EQ(static_cast<std::size_t>(run->result.discarded_samples), count_samples(*run)) << seed;
    const Verdict& verdict = run->result.verdict;
    const bool answered = verdict.answer == Answer::use || verdict.answer == Answer::keep;
    EXPECT_EQ(answered, verdict.beside_load) << seed << ": " << headline(*run).english;
    EXPECT_THAT(sentence(run->result.advice), Not(HasSubstr("stopping is fine"))) << seed;
    if (played.dearer == 1) {  // the second process brings much, the others a fifth or nothing
      ++apart;
      settled += answered ? 1 : 0;
    }
    if (!answered) continue;
    EXPECT_THAT(headline(*run).english, HasSubstr("Measured in turns beside other load")) << seed;
    const std::vector<Badge> shown = badges(*run);
    EXPECT_TRUE(std::any_of(shown.begin(), shown.end(), [](const Badge& badge) {
      return badge.text == "LOADED HOST";
    })) << seed;
    if (verdict.answer != Answer::use) continue;
    ++used;
    const double ratio = rate_beside(played, run->result.recommendation.knobs) /
                         rate_beside(played, run->result.baseline.knobs);
    if (ratio <= 1) ++wrong;
  }
  std::printf("%d used, %d wrong; %d of %d apart settled\n", used, wrong, settled, apart);
  EXPECT_GT(used, 10);
  EXPECT_LE(wrong, 0.05 * used + 1);
  EXPECT_GE(settled, 0.9 * apart);
}

// The same machine without strangers: else the test above could not fail.
TEST_F(NeverQuiet, TheSameTuneIsSafeOnceTheStrangersAreGone) {
  PlayedMachine played = played_machine(3);
  played.strangers = {};
  double seconds = 0;
  const auto run = tuned(played, seconds);
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_EQ(run->result.discarded_samples, 0);
  EXPECT_EQ(run->result.verdict.answer, Answer::use) << headline(*run).english;
  bool safe = false;
  for (const Badge& badge : badges(*run)) safe |= badge.text == "SAFE";
  EXPECT_TRUE(safe);
}

}  // namespace
}  // namespace ocrtune
