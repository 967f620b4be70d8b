#include "tuner/verdict/trial_cause.h"

#include <string>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

std::string row_name(Outcome outcome, const std::string& cause, const std::string& log = "") {
  Trial trial;
  trial.outcome = outcome;
  trial.cause = cause;
  trial.log_tail = log;
  const CauseRow* row = cause_row_of(trial);
  return row == nullptr ? "" : row->name;
}

TEST(TrialCause, IsFoundByOutcomeAndCause) {
  EXPECT_EQ(row_name(Outcome::out_of_memory, "cgroup"), "cgroup_out_of_memory");
  EXPECT_EQ(row_name(Outcome::out_of_memory, "shm"), "shm_full");
  EXPECT_EQ(row_name(Outcome::crashed, "disk_full"), "disk_full");
}

TEST(TrialCause, IsFoundInTheLogOfAProcessThatDied) {
  EXPECT_EQ(row_name(Outcome::crashed, "exit",
                     "epoch 3\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"),
            "gpu_out_of_memory");
}

TEST(TrialCause, CountersThatStoodStillTakeMemoryBack) {
  Trial trial;
  trial.outcome = Outcome::crashed;
  trial.cause = "exit";
  trial.log_tail = "DataLoader process (pid 5) exited is killed by signal: Killed.\n";
  trial.counters.exit_code = 1;
  EXPECT_STREQ(cause_row_of(trial)->name, "host_out_of_memory");
  trial.counters.host_oom_kills = 0;
  EXPECT_STREQ(cause_row_of(trial)->name, "killed_by_other");
  trial.log_tail = "all is well\n";
  trial.counters.exit_code = 3;
  EXPECT_EQ(cause_row_of(trial), nullptr);
}

TEST(TrialCause, IsNotGuessed) {
  EXPECT_EQ(row_name(Outcome::ok, ""), "");
  EXPECT_EQ(row_name(Outcome::out_of_memory, "predicted"), "");
  EXPECT_EQ(row_name(Outcome::unsupported, "binding"), "");
  EXPECT_EQ(row_name(Outcome::crashed, "exit", "all is well\n"), "");
  EXPECT_EQ(row_name(Outcome::crashed, "exit"), "");
}

}  // namespace
}  // namespace ocrtune
