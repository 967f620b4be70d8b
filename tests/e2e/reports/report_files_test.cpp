#include "reports/report_files.h"

#include <unistd.h>

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "reports/export/env_file.h"
#include "tests/support/sample_runs.h"

namespace ocrtune {
namespace {

class ReportFiles : public testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("reports"); }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_).ok()); }
  std::string at(const std::string& name) const { return join_path(folder_, name); }

  std::string folder_;
};

TEST_F(ReportFiles, AreAllThereInAFreshFolder) {
  ASSERT_TRUE(write_reports(sample_run(), at("a")).ok());
  EXPECT_EQ(*list_directory(at("a")),
            (std::vector<std::string>{"failures.csv", "ocrtune.env", "probe.csv", "report.html",
                                      "summary.csv", "trials.csv"}));
}

TEST_F(ReportFiles, NoAnswerLeavesNoEnvFile) {
  ASSERT_TRUE(write_reports(run_without_success(), folder_).ok());
  EXPECT_FALSE(path_exists(at("ocrtune.env")));
  EXPECT_TRUE(path_exists(at("report.html")));
}

TEST_F(ReportFiles, AFolderThatCannotBeMadeIsNamed) {
  ASSERT_TRUE(write_file(at("file"), "x").ok());
  const Status status = write_reports(sample_run(10), at("file/reports"));
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().what.find("file"), std::string::npos) << status.error().what;
}

TEST_F(ReportFiles, TheEnvFileCanBeSourcedWhateverItHolds) {
  const RunRecord run = hostile_run();
  ASSERT_TRUE(write_file(at("ocrtune.env"), env_file_text(run.result)).ok());
  // A stray command would leave its mark or fail under set -e.
  const std::string script = "set -eu; cd " + shell_quote(folder_) +
                             "; set -a; . ./ocrtune.env; set +a; "
                             "test -n \"$OMP_NUM_THREADS\"; test -z \"${PLAIN_NAME:-}\"";
  EXPECT_EQ(std::system(("sh -c " + shell_quote(script) + " 2>/dev/null").c_str()), 0)
      << env_file_text(run.result);
}

// Docker's --env-file takes each line as it is, quotes included.
TEST(EnvFile, IsTheSameToDockerAndToAShell) {
  TuneResult result;
  result.recommendation.env = {
      {"OMP_NUM_THREADS", "2"}, {"OCRTUNE_RANK_CPUS", "0-1:2-3"}, {"WITH_BLANK", "a b"}};
  const std::string text = env_file_text(result);
  EXPECT_THAT(text, testing::HasSubstr("\nOMP_NUM_THREADS=2\nOCRTUNE_RANK_CPUS=0-1:2-3\n"));
  EXPECT_THAT(text, testing::HasSubstr("\n# set by hand: WITH_BLANK='a b'\n"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("NPROC_PER_NODE")));
}

}  // namespace
}  // namespace ocrtune
