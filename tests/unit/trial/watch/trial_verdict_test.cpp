#include "trial/watch/trial_verdict.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using testing::Contains;
using testing::HasSubstr;

Trial judged(const TrialFacts& facts) {
  Trial trial;
  judge_trial(facts, trial);
  return trial;
}

RankExit killed(int rank, int signal) {
  RankExit one;
  one.rank = rank;
  one.exit.signal = signal;
  return one;
}

TEST(TrialVerdict, SigkillAloneIsNotOutOfMemory) {
  TrialFacts facts;
  facts.exits = {killed(1, SIGKILL)};
  const Trial trial = judged(facts);
  EXPECT_EQ(trial.outcome, Outcome::crashed);
  EXPECT_EQ(trial.reason,
            "rank 1: killed by SIGKILL, sender unknown (no out-of-memory kill counted)");
}

TEST(TrialVerdict, SigkillWithCountersIs) {
  TrialFacts facts;
  facts.exits = {killed(1, SIGKILL)};
  facts.errors = {{0, Outcome::crashed, "peer", "rank 1 died; its peers cannot go on"}};
  facts.oom = {true, false, "cgroup", {"oom_kill of control group /job grew by 1"}};
  const Trial trial = judged(facts);
  EXPECT_EQ(trial.outcome, Outcome::out_of_memory);
  EXPECT_EQ(trial.cause, "cgroup");
  EXPECT_THAT(trial.evidence, Contains(HasSubstr("/job grew by 1")));
  EXPECT_THAT(trial.evidence, Contains(HasSubstr("rank 1: killed by SIGKILL")));
}

TEST(TrialVerdict, AKillNearbyDoesNotExplainAnError) {
  TrialFacts facts;
  facts.user_command = true;
  facts.exits = {RankExit{0, ProcessExit{2, 0}}};
  facts.oom = {true, false, "cgroup", {"oom_kill of control group /pod grew by 1"}};
  EXPECT_EQ(judged(facts).outcome, Outcome::crashed);
  EXPECT_EQ(judged(facts).cause, "exit");
  facts.kill_told = true;
  EXPECT_EQ(judged(facts).outcome, Outcome::out_of_memory) << "a loader worker was killed";
  facts.kill_told = false;
  facts.exits[0].exit.code = 137;
  EXPECT_EQ(judged(facts).outcome, Outcome::out_of_memory) << "a launcher tells of SIGKILL";
  facts.exits.clear();
  facts.stop = StopCause::hung;
  EXPECT_EQ(judged(facts).outcome, Outcome::hung);
  facts.oom.named = true;
  EXPECT_EQ(judged(facts).outcome, Outcome::out_of_memory) << "the kernel log names a process";
}

TEST(TrialVerdict, AKillIsWhatTheLogTellsOf) {
  EXPECT_TRUE(
      tells_of_kill("RuntimeError: DataLoader worker (pid 812) is killed by signal: Killed."));
  EXPECT_TRUE(
      tells_of_kill("train.py FAILED\n  exitcode  : -9 (pid: 812)\n"
                    "  traceback : Signal 9 (SIGKILL) received by PID 812\n"));
  EXPECT_FALSE(
      tells_of_kill("Traceback (most recent call last):\n  File \"a.py\", line 3\n"
                    "ValueError: not enough values to unpack\n"));
  EXPECT_FALSE(tells_of_kill(""));
}

TEST(TrialVerdict, OwnErrorBeforePeersComplaint) {
  TrialFacts facts;
  facts.errors = {{1, Outcome::crashed, "peer", "rank 0 died"},
                  {0, Outcome::out_of_memory, "shm", "no room in /dev/shm"}};
  const Trial trial = judged(facts);
  EXPECT_EQ(trial.outcome, Outcome::out_of_memory);
  EXPECT_EQ(trial.cause, "shm");
}

TEST(TrialVerdict, MeasuredIsOkWhateverCameAfter) {
  TrialFacts facts;
  facts.stop = StopCause::measured;
  facts.exits = {killed(0, SIGKILL)};
  EXPECT_EQ(judged(facts).outcome, Outcome::ok);
}

TEST(TrialVerdict, TimeOutWithEnoughWindowsIsOk) {
  TrialFacts facts;
  facts.stop = StopCause::timed_out;
  facts.stop_reason = "no measurement within 60.0 s";
  EXPECT_EQ(judged(facts).outcome, Outcome::timed_out);
  facts.windows = 3;
  EXPECT_EQ(judged(facts).outcome, Outcome::ok);
}

TEST(TrialVerdict, UserCommandMayEndByItself) {
  TrialFacts facts;
  facts.user_command = true;
  facts.exits = {RankExit{}};
  facts.windows = 5;
  EXPECT_EQ(judged(facts).outcome, Outcome::ok);
  facts.windows = 1;
  EXPECT_EQ(judged(facts).cause, "ended");
  facts.windows = 0;
  facts.no_metric_reason = "no line that reader 'paddleocr' knows";
  EXPECT_EQ(judged(facts).cause, "no_metric");
  facts.left_running = "python3 (123)";
  EXPECT_EQ(judged(facts).cause, "left_running") << "it was started in the background";
}

TEST(TrialVerdict, ACommandWithoutASpeedThatAnswersHttpIsAServer) {
  for (const StopCause stop : {StopCause::hung, StopCause::timed_out, StopCause::no_metric}) {
    TrialFacts facts;
    facts.user_command = true;
    facts.stop = stop;
    facts.no_metric_reason = "it printed no line";
    facts.http_port = 29778;
    EXPECT_EQ(judged(facts).cause, "server");
    EXPECT_EQ(judged(facts).reason,
              "it listens on 29778: a server is measured with --mode infer --url "
              "http://127.0.0.1:{port}/PATH, and {port} for 29778 in the command");
  }
}

TEST(TrialVerdict, EveryStopHasItsOutcome) {
  const std::pair<StopCause, Outcome> rows[] = {{StopCause::hung, Outcome::hung},
                                                {StopCause::memory_limit, Outcome::out_of_memory},
                                                {StopCause::host_memory, Outcome::out_of_memory},
                                                {StopCause::interrupted, Outcome::skipped},
                                                {StopCause::refused, Outcome::unsupported},
                                                {StopCause::exhausted, Outcome::crashed}};
  for (const auto& [stop, outcome] : rows) {
    TrialFacts facts;
    facts.stop = stop;
    facts.stop_reason = "because";
    EXPECT_EQ(judged(facts).outcome, outcome);
    EXPECT_EQ(judged(facts).reason, "because");
  }
}

}  // namespace
}  // namespace ocrtune
