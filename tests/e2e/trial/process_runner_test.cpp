#include "trial/workloads/engine_train/process_runner.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/orphan_guard.h"
#include "base/process.h"
#include "base/process_tree.h"
#include "base/text.h"
#include "tests/support/this_machine.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

ProcessRunnerOptions fake(const std::string& mode) {
  ProcessRunnerOptions options;
  options.worker_command = {OCRTUNE_FAKE_WORKER, mode};
  const bool hangs = starts_with(mode, "hang") || mode == "mute" || mode == "spin";
  if (hangs) {  // the rule itself is tested with its true numbers
    options.silence.min_seconds = options.silence.start_seconds = 0.4;
    options.silence.busy_factor = 2;
  }
  // While it floods it sends no event; on a machine with other work that lasts as long as it likes.
  if (starts_with(mode, "flood")) options.silence.min_seconds = 300;
  options.stop_grace_seconds = 0.2;
  return options;
}

Knobs two_ranks() {
  Knobs knobs;
  knobs.nproc = 2;
  knobs.batch = 8;
  return knobs;
}

TrialLimits quick() {
  TrialLimits limits;
  limits.measure_seconds = 0.2;
  limits.max_seconds = 20;
  return limits;
}

// Processes that carry the mark of this test and still live.
std::vector<std::string> survivors() {
  std::vector<std::string> found;
  for (const ProcessFacts& process : all_processes()) {
    if (process.state == 'Z' || process.pid == ::getpid()) continue;
    const auto environment = read_file("/proc/" + std::to_string(process.pid) + "/environ");
    if (environment &&
        environment->find(std::string(kTreeVariable) + "=" + process_mark()) != std::string::npos) {
      found.push_back(process.name);
    }
  }
  return found;
}

Trial run(const std::string& mode, const Knobs& knobs = two_ranks(),
          const TrialLimits& limits = quick()) {
  Trial trial =
      make_process_runner(TrainingWorkload(), this_machine(), fake(mode))->run(knobs, limits);
  EXPECT_TRUE(survivors().empty()) << mode << " left " << join(survivors(), ", ");
  return trial;
}

TEST(ProcessRunner, MeasuresAGoodTrial) {
  const Trial trial = run("good");
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.reason;
  EXPECT_GE(trial.samples.size(), 3u);
  EXPECT_GT(trial.samples_per_second, 0);
  EXPECT_EQ(trial.knobs, two_ranks());
  EXPECT_GT(trial.peak_bytes, 100u << 10);
  EXPECT_LT(trial.peak_bytes, 1u << 30);
  const std::string cpus = current_affinity().text();
  EXPECT_EQ(trial.placement, "0:" + cpus + " 1:" + cpus);
  EXPECT_EQ(trial.reproduce, "ocrtune worker nproc=2 threads=1 batch=8");
  EXPECT_GT(trial.start_seconds, 0);
  EXPECT_LT(trial.start_seconds, trial.seconds);
  EXPECT_EQ(trial.started.size(), 20u);
  for (const Sample& sample : trial.samples) {
    EXPECT_NEAR(sample.step.compute_seconds, 0.005, 0.004);
    EXPECT_GE(sample.interference.external_cpus, 0);
  }
}

struct FaultCase {
  const char* mode;
  Outcome outcome;
  const char* cause;
  const char* reason;
};

class ProcessRunnerFault : public testing::TestWithParam<FaultCase> {};

TEST_P(ProcessRunnerFault, HasItsOutcome) {
  const FaultCase& expected = GetParam();
  TrialLimits limits = quick();
  limits.max_seconds = 300;  // the outcome is tested, not how busy this machine is
  const Trial trial = run(expected.mode, two_ranks(), limits);
  EXPECT_EQ(outcome_name(trial.outcome), outcome_name(expected.outcome)) << trial.reason;
  EXPECT_EQ(trial.cause, expected.cause) << trial.reason;
  EXPECT_THAT(trial.reason, HasSubstr(expected.reason));
  if (!trial.ok()) {
    EXPECT_EQ(trial.samples_per_second, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Modes, ProcessRunnerFault,
    testing::Values(
        FaultCase{"hang@1", Outcome::hung, "silence", "using no CPU"},
        FaultCase{"mute", Outcome::hung, "silence", "using no CPU"},
        FaultCase{"spin", Outcome::hung, "silence", "CPU"},  // how much it got is the scheduler's
        FaultCase{"exit3@1", Outcome::crashed, "exit", "rank 1: exit code 3"},
        FaultCase{"exit0", Outcome::crashed, "ended", "ended by itself"},
        FaultCase{"segv@0", Outcome::crashed, "signal", "rank 0: killed by SIGSEGV"},
        FaultCase{"abort@1", Outcome::crashed, "signal", "rank 1: killed by SIGABRT"},
        FaultCase{"sigkill@1", Outcome::crashed, "signal", "killed by SIGKILL, sender unknown"},
        FaultCase{"wrong@1", Outcome::wrong_result, "reference", "differs"},
        FaultCase{"garbage@0", Outcome::crashed, "protocol", "not an event"},
        FaultCase{"partial@0", Outcome::crashed, "protocol", "cut off"},
        FaultCase{"elsewhere@1", Outcome::ok, "", ""}, FaultCase{"ignore", Outcome::ok, "", ""},
        FaultCase{"daemon", Outcome::ok, "", ""}, FaultCase{"flood@0", Outcome::ok, "", ""}),
    [](const testing::TestParamInfo<FaultCase>& one) {
      std::string name = one.param.mode;
      std::replace(name.begin(), name.end(), '@', '_');
      return name;
    });

TEST(ProcessRunner, HungTrialSaysWhereItSleeps) {
  const Trial trial = run("hang");
  ASSERT_EQ(trial.outcome, Outcome::hung);
  ASSERT_FALSE(trial.evidence.empty());
  EXPECT_THAT(trial.evidence[0], HasSubstr("threads of fake_worker sleep"));
}

TEST(ProcessRunner, BlamesTheFirstCauseNotThePeer) {
  // Rank 1 says that its peer died; rank 0 really crashed.
  Knobs knobs = two_ranks();
  const Trial trial = run("segv@0", knobs);
  EXPECT_THAT(trial.reason, HasSubstr("rank 0"));
  const Trial secondary = run("peer@1", knobs);
  EXPECT_EQ(secondary.outcome, Outcome::crashed);
}

TEST(ProcessRunner, SlowIsNotHung) {
  TrialLimits limits = quick();
  limits.expected_step_seconds = 0.005;  // it is 20 times slower
  const Trial trial = run("slow", two_ranks(), limits);
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.reason;
  ASSERT_FALSE(trial.samples.empty());
  EXPECT_NEAR(trial.samples[0].samples_per_second(), 2 * 8 / 0.1, 1);
}

TEST(ProcessRunner, AResultEndsTheTrialWithItsRate) {
  Knobs knobs = two_ranks();
  knobs.nproc = 1;
  TrialLimits limits = quick();
  limits.measure_seconds = 10;  // the steps alone would go on
  const auto runner = make_process_runner({}, this_machine(), fake("result"));
  const Trial trial = runner->run(knobs, limits);
  ASSERT_TRUE(trial.ok()) << trial.reason;
  ASSERT_EQ(trial.samples.size(), 1u);
  EXPECT_EQ(trial.samples_per_second, 123.5);
  EXPECT_EQ(trial.samples[0].steps, 40);
  EXPECT_EQ(trial.evidence, (std::vector<std::string>{"tried 100/s", "123.5/s held"}));
  const Trial refused =
      make_process_runner({}, this_machine(), fake("no-result"))->run(knobs, limits);
  EXPECT_EQ(refused.outcome, Outcome::unsupported);
  EXPECT_EQ(refused.cause, "promise");
  EXPECT_EQ(refused.reason, "30 ms too long");
}

TEST(ProcessRunner, TimesOut) {
  TrialLimits limits = quick();
  limits.measure_seconds = 100;
  limits.max_seconds = 0.3;
  const Trial trial = run("slow", two_ranks(), limits);
  EXPECT_EQ(trial.outcome, Outcome::timed_out);
  EXPECT_THAT(trial.reason, HasSubstr("no measurement within"));
}

TEST(ProcessRunner, AllocationFailureIsOutOfMemory) {
  TrialLimits limits = quick();
  limits.memory_limit_bytes = 200 << 20;  // becomes the limit of each process's writable memory
  Knobs knobs = two_ranks();
  knobs.nproc = 1;
  const Trial trial = run("allocate", knobs, limits);
  EXPECT_EQ(trial.outcome, Outcome::out_of_memory) << trial.reason;
  EXPECT_THAT(trial.cause, testing::AnyOf("process", "limit"));
}

TEST(ProcessRunner, StopsATreeThatGrowsPastTheLimit) {
  TrialLimits limits = quick();
  limits.memory_limit_bytes = 400 << 20;
  limits.measure_seconds = 100;
  const Trial trial = run("grow", two_ranks(), limits);
  EXPECT_EQ(trial.outcome, Outcome::out_of_memory) << trial.reason;
  EXPECT_EQ(trial.cause, "limit");
  EXPECT_LT(trial.peak_bytes, 800u << 20);
}

TEST(ProcessRunner, RefusesASettingThatIsNotInForce) {
  Knobs knobs = two_ranks();
  knobs.nproc = 1;
  knobs.threads = current_affinity().count();
  knobs.binding = "compact";
  const Trial elsewhere = run("elsewhere", knobs);
  EXPECT_EQ(elsewhere.outcome, Outcome::unsupported);
  EXPECT_THAT(elsewhere.reason, HasSubstr("runs on CPUs 77 instead of"));
  knobs.binding = "none";
  knobs.threads = 2;
  const Trial narrow = run("narrow", knobs);
  EXPECT_EQ(narrow.outcome, Outcome::unsupported);
  EXPECT_THAT(narrow.reason, HasSubstr("1 OpenMP threads instead of 2"));
}

TEST(ProcessRunner, BindsRanksToDisjointCpus) {
  if (current_affinity().count() < 2) GTEST_SKIP() << "needs two CPUs";
  Knobs knobs = two_ranks();
  knobs.binding = "compact";
  const Trial trial = run("good", knobs);
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.reason;
  const auto places = split(trial.placement, ' ');
  ASSERT_EQ(places.size(), 2u);
  EXPECT_NE(places[0].substr(2), places[1].substr(2));
}

TEST(ProcessRunner, SaysWhatCannotBeBound) {
  Knobs knobs = two_ranks();
  knobs.threads = current_affinity().count() + 1;
  knobs.binding = "compact";
  const Trial trial = run("good", knobs);
  EXPECT_EQ(trial.outcome, Outcome::unsupported);
  EXPECT_FALSE(trial.reason.empty());
}

TEST(ProcessRunner, MissingWorkerIsAnOutcome) {
  ProcessRunnerOptions options;
  options.worker_command = {"/no/such/worker"};
  const Trial trial =
      make_process_runner(TrainingWorkload(), this_machine(), options)->run(two_ranks(), quick());
  EXPECT_FALSE(trial.ok());
  EXPECT_THAT(trial.reason, HasSubstr("/no/such/worker"));
}

TEST(ProcessRunner, SparesABystanderOfTheSameName) {
  ProcessOptions options;
  options.arguments = {OCRTUNE_FAKE_WORKER, "mute", "--spec", "{}"};
  options.environment = {{"OCRTUNE_EVENT_FD", "1"}};
  auto bystander = Process::start(options);
  ASSERT_TRUE(bystander.ok());
  EXPECT_TRUE(run("ignore").ok());
  EXPECT_TRUE(run("daemon").ok());
  EXPECT_FALSE(bystander->poll_exit().has_value()) << bystander->poll_exit()->text();
}

TEST(ProcessRunner, ManyGoodTrialsAreAllGood) {
  TrialLimits limits = quick();
  limits.measure_seconds = 0.05;
  auto runner = make_process_runner(TrainingWorkload(), this_machine(), fake("good"));
  for (int i = 0; i < 10; ++i) {
    const Trial trial = runner->run(two_ranks(), limits);
    EXPECT_EQ(trial.outcome, Outcome::ok) << trial.reason;
  }
}

}  // namespace
}  // namespace ocrtune
