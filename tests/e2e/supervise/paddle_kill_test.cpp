// The failure that is most often blamed on NCCL, with the real framework and the real kernel: a
// Paddle DataLoader worker killed by the out-of-memory killer inside a small control group.
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"
#include "diagnosis/diagnosis.h"
#include "extras/supervise/supervised_attempt.h"
#include "tests/support/limited_group.h"

namespace ocrtune {
namespace {

// A python that imports Paddle, or "".
std::string paddle_python() {
  const char* named = std::getenv("OCRTUNE_PADDLE_PYTHON");
  for (const std::string& python :
       {std::string(named == nullptr ? "" : named),
        parent_path(OCRTUNE_BINARY) + "/clients/paddle/bin/python", std::string("python3")}) {
    if (python.empty()) continue;
    ProcessOptions options;
    options.arguments = {python, "-c", "import paddle"};
    auto probe = Process::start(options);
    if (!probe) continue;
    const auto& exit = probe->wait(60);
    if (exit && exit->clean()) return python;
  }
  return "";
}

TEST(SlowPaddleKill, AWorkerKilledByTheKernelIsMemoryAndNotNccl) {
  const std::string python = paddle_python();
  if (python.empty()) GTEST_SKIP() << "no python with paddle: set OCRTUNE_PADDLE_PYTHON";
  const LimitedGroup group("paddle", std::uint64_t{1200} << 20);
  if (!group.why_not().empty()) GTEST_SKIP() << group.why_not();
  const std::string directory = *make_temporary_directory("paddle_kill");
  AttemptPlan plan;
  plan.process.arguments = {
      python, std::string(OCRTUNE_SOURCE_DIR) + "/tests/clients/paddle_greedy_loader.py"};
  plan.process.join_groups = {group.processes_file()};
  plan.log_path = join_path(directory, "train.log");
  const auto end = run_attempt(plan, {});
  ASSERT_TRUE(end) << end.error().what;
  EXPECT_FALSE(end->exit.clean());
  const LogScan log = *scan_log(plan.log_path);
  EXPECT_GE(log.progress_lines, 5) << "it must fail while it trains";
  EXPECT_TRUE(end->survivors.empty());

  const Diagnosis from_log = diagnose({log}, {});
  ASSERT_TRUE(from_log.failed);
  EXPECT_STREQ(from_log.causes[0].row->name, "host_out_of_memory");
  std::vector<LogScan> logs = {log};
  std::string kernel;
  for (const std::string& line : end->kernel_log) kernel += line + "\n";
  if (!kernel.empty()) logs.push_back(scan_text("kernel log", kernel));
  const Diagnosis diagnosis = diagnose(logs, end->evidence);
  ASSERT_TRUE(diagnosis.failed);
  EXPECT_THAT(diagnosis.causes[0].row->name, testing::AnyOf(testing::StrEq("cgroup_out_of_memory"),
                                                            testing::StrEq("host_out_of_memory")));
  EXPECT_GE(diagnosis.causes[0].confidence, 0.9);
  for (const Cause& cause : diagnosis.causes) {
    EXPECT_THAT(cause.row->name, testing::Not(testing::HasSubstr("nccl")));
  }
  ASSERT_TRUE(remove_tree(directory));
}

}  // namespace
}  // namespace ocrtune
