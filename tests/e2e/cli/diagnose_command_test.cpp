// The built tool on logs good and bad, as a user calls it.
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "tests/support/ran.h"
#include "tests/support/schema_text.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;
using testing::Not;

Ran diagnose(const std::string& arguments) {
  return run_line(OCRTUNE_BINARY + " diagnose " + arguments + " 2>&1");
}

class DiagnoseCommand : public testing::Test {
 protected:
  void SetUp() override { directory_ = *make_temporary_directory("diagnose"); }
  void TearDown() override { ASSERT_TRUE(remove_tree(directory_)); }
  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = join_path(directory_, name);
    EXPECT_TRUE(write_file(path, text));
    return path;
  }
  std::string directory_;
};

TEST_F(DiagnoseCommand, SaysTheCauseAndTheWayOut) {
  const Ran ran =
      diagnose(file("a.log", "DataLoader process (pid 5) exited is killed by signal: Killed.\n"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("host_out_of_memory"));
  EXPECT_THAT(ran.out, HasSubstr("a.log:1"));
  EXPECT_THAT(ran.out, HasSubstr("num_workers"));
  EXPECT_THAT(ran.out, HasSubstr("NCCL_P2P_DISABLE=1"));
}

TEST_F(DiagnoseCommand, SpeaksTheLanguageOfTheTerminal) {
  const std::string log = file("a.log", "CUDA out of memory\n");
  const std::string chinese = "LC_ALL=zh_CN.UTF-8 " + OCRTUNE_BINARY + " diagnose " + log;
  EXPECT_THAT(run_line(chinese).out, HasSubstr("显存不足"));
  EXPECT_THAT(run_line(chinese + " --language en").out, Not(HasSubstr("显存不足")));
}

TEST_F(DiagnoseCommand, JsonHasTheDocumentedShape) {
  const std::string log = file("a.log", "one\nCUDA out of memory\n");
  const Ran ran = diagnose(log + " --json --exit-code 1");
  const auto json = nlohmann::json::parse(ran.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << ran.out;
  EXPECT_EQ(schema_fault("diagnose", json), "");
  const auto& cause = json.at("causes").at(0);
  EXPECT_EQ(cause.at("cause"), "gpu_out_of_memory");
  EXPECT_GT(cause.at("confidence").get<double>(), 0.8);
  EXPECT_EQ(cause.at("evidence").at(0).at("file"), log);
  EXPECT_EQ(cause.at("evidence").at(0).at("line"), 2);
  EXPECT_EQ(cause.at("evidence").at(0).at("text"), "CUDA out of memory");
  EXPECT_FALSE(cause.at("fixes").empty());
}

TEST_F(DiagnoseCommand, AFolderMeansItsLogs) {
  file("workerlog.0",
       "[2024/01/01 10:00:30] ppocr INFO: x\nFatalError: `Termination signal` is detected by the "
       "operating system.\n");
  file("workerlog.1", "[2024/01/01 10:00:10] x\nOSError: [Errno 28] No space left on device\n");
  file("envlog.1", "CUDA out of memory\n");
  const Ran ran = diagnose("--run-dir " + directory_);
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("1. disk full"));
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("gpu_out_of_memory")));
}

TEST_F(DiagnoseCommand, EvidenceOfASupervisedRunCounts) {
  file("rank.log", "loss: 1\n");
  file("evidence.json", R"({"exit_code": -9, "cgroup_oom_kills": 0, "host_oom_kills": 0})");
  EXPECT_THAT(diagnose("--run-dir " + directory_).out, HasSubstr("1. killed by other"));
  file("evidence.json", R"({"exit_code": -9, "cgroup_oom_kills": 2})");
  EXPECT_THAT(diagnose("--run-dir " + directory_).out, HasSubstr("1. cgroup out of memory"));
  file("evidence.json", "{");
  const Ran damaged = diagnose("--run-dir " + directory_);
  EXPECT_EQ(damaged.code, 3);
  EXPECT_THAT(damaged.out, HasSubstr("evidence.json"));
}

TEST_F(DiagnoseCommand, ReadsStandardInput) {
  const std::string log = file("a.log", "CUDA out of memory\n");
  EXPECT_THAT(diagnose("- < " + log).out, HasSubstr("gpu_out_of_memory"));
}

TEST_F(DiagnoseCommand, HealthyAndEmptyLogsAreFine) {
  EXPECT_EQ(diagnose(file("a.log", "epoch: [1/2], loss: 0.5\n")).code, 0);
  // What ocrtune itself says of a machine without GPUs.
  EXPECT_EQ(
      diagnose(file("own.log",
                    "GPUs        no GPU: no NVIDIA driver (libnvidia-ml.so.1: cannot open shared "
                    "object file: No such file or directory)\ntrial 1: nproc=1: 120 samples/s\n"))
          .code,
      0);
  const Ran empty = diagnose(file("b.log", ""));
  EXPECT_EQ(empty.code, 0);
  EXPECT_THAT(empty.out, HasSubstr("b.log is empty"));
}

TEST_F(DiagnoseCommand, OneUnreadableFileDoesNotHideTheOthers) {
  const Ran ran = diagnose(file("a.log", "CUDA out of memory\n") + " /nowhere/b.log");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("gpu_out_of_memory"));
  EXPECT_THAT(ran.out, HasSubstr("/nowhere/b.log was not read"));
}

// As the program's own advice says: bash gives the file a number.
TEST_F(DiagnoseCommand, AKernelLogFromAPipeIsNoRank) {
  const std::string log = file("a.log", "step 1\nRuntimeError: CUDA error: unknown error\n");
  const Ran ran = run_line("bash -c \"" + OCRTUNE_BINARY + " diagnose " + log +
                           " --exit-code 1 --kernel-log <(echo '[1.0] NVRM: Xid (PCI:0000:41:00): "
                           "79, GPU has fallen off the bus.')\" 2>&1");
  EXPECT_THAT(ran.out, HasSubstr("gpu_fault"));
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("rank 63")));
}

TEST_F(DiagnoseCommand, BadUseIsOneClearLine) {
  const Ran missing = diagnose("/nowhere/a.log");
  EXPECT_EQ(missing.code, 3);
  EXPECT_EQ(missing.out, "ocrtune diagnose: open /nowhere/a.log: No such file or directory\n");
  const Ran nothing = diagnose("");
  EXPECT_EQ(nothing.code, 2);
  EXPECT_THAT(nothing.out, HasSubstr("name a log"));
  EXPECT_EQ(diagnose("--exit-code many").code, 2);
  const Ran folder = diagnose(directory_);
  EXPECT_EQ(folder.code, 3);
  EXPECT_THAT(folder.out, HasSubstr("holds no log"));
}

}  // namespace
}  // namespace ocrtune
