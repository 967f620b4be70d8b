// Real failures of real processes, and what the diagnosis makes of each: a confusion matrix.
#include <cstdio>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "diagnosis/diagnosis.h"
#include "extras/supervise/supervised_attempt.h"
#include "tests/support/limited_group.h"

namespace ocrtune {
namespace {

class PlainFaults : public testing::Test {
 protected:
  void SetUp() override { directory_ = *make_temporary_directory("faults"); }
  void TearDown() override { ASSERT_TRUE(remove_tree(directory_)); }

  AttemptEnd attempt(const std::string& mode, AttemptPlan plan = {}) {
    plan.process.arguments = {OCRTUNE_FAULT_WORKER, mode};
    plan.log_path = join_path(directory_, mode + ".log");
    plan.stop_grace_seconds = 0.2;
    auto end = run_attempt(plan, {});
    EXPECT_TRUE(end) << end.error().what;
    return *end;
  }

  std::string verdict(const std::string& mode, const AttemptEnd& end) const {
    std::vector<LogScan> logs = {*scan_log(join_path(directory_, mode + ".log"))};
    std::string kernel;
    for (const std::string& line : end.kernel_log) kernel += line + "\n";
    if (!kernel.empty()) logs.push_back(scan_text("kernel log", kernel));
    const Diagnosis diagnosis = diagnose(logs, end.evidence);
    return diagnosis.failed ? diagnosis.causes[0].row->name : "none";
  }

  std::string directory_;
};

TEST_F(PlainFaults, EachIsNamed) {
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"clean", "none"},
      {"segv", "segmentation_fault"},
      {"abort", "aborted"},
      {"ill", "illegal_instruction"},
      {"fpe", "native_exception"},
      {"killed", "killed_by_other"},
      {"terminated", "terminated_from_outside"},
      {"hangup", "terminal_hangup"},
      {"interrupt", "interrupted_by_user"},
      {"memory", "host_allocation_failed"},
      {"descriptors", "too_many_open_files"},
      {"disk", "disk_full"},
      {"sigbus", "shm_full"},
      {"port", "port_in_use"},
      {"threads", "process_limit"},
      {"heap", "segmentation_fault"},
      {"exception", "native_exception"},
      {"missing", "missing_file"},
      {"nan", "loss_diverged"},
      {"python", "python_exception"},
      {"python_module", "missing_module"},
      {"python_file", "missing_file"},
      {"python_memory", "host_allocation_failed"},
      {"python_worker", "killed_by_other"},
      {"ranks", "rank_mismatch"},
  };
  int right = 0;
  std::string matrix;  // fault, what it is, what the diagnosis says
  for (const auto& [mode, cause] : expected) {
    const std::string got = verdict(mode, attempt(mode));
    EXPECT_EQ(got, cause) << mode;
    right += got == cause ? 1 : 0;
    char line[160];
    std::snprintf(line, sizeof line, "%-16s %-24s %-24s %s\n", mode.c_str(), cause.c_str(),
                  got.c_str(), got == cause ? "right" : "WRONG");
    matrix += line;
  }
  std::printf("%-16s %-24s %-24s\n%s%d of %zu right\n", "fault", "true cause", "diagnosed",
              matrix.c_str(), right, expected.size());
  RecordProperty("faults", static_cast<int>(expected.size()));
  RecordProperty("right", right);
}

TEST_F(PlainFaults, ASilentRunIsStoppedAndNotTakenForAKill) {
  for (const std::string mode : {"futex", "livelock"}) {
    AttemptPlan plan;
    plan.silence_seconds = 0.5;
    const AttemptEnd end = attempt(mode, plan);
    EXPECT_EQ(end.stop, AttemptStop::silent) << mode;
    EXPECT_EQ(verdict(mode, end), "none") << mode;
    EXPECT_TRUE(end.survivors.empty());
  }
}

TEST_F(PlainFaults, ALeakIsStoppedAtTheLimit) {
  AttemptPlan plan;
  plan.memory_limit_bytes = 8 << 20;
  const AttemptEnd end = attempt("leak", plan);
  EXPECT_EQ(end.stop, AttemptStop::memory);
  EXPECT_GE(end.last.progress_lines, 3);
}

// The kernel's own killer, in a control group that only this child is in.
TEST_F(PlainFaults, TheKernelsKillIsMemory) {
  const LimitedGroup group("eat", 64 << 20);
  if (!group.why_not().empty()) GTEST_SKIP() << group.why_not();
  AttemptPlan plan;
  plan.process.join_groups = {group.processes_file()};
  const AttemptEnd end = attempt("eat", plan);
  EXPECT_EQ(end.exit.signal, SIGKILL);
  EXPECT_THAT(verdict("eat", end), testing::AnyOf("cgroup_out_of_memory", "host_out_of_memory"));
}

}  // namespace
}  // namespace ocrtune
