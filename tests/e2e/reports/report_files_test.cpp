#include "reports/report_files.h"

#include <unistd.h>

#include <cstdlib>

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
  ASSERT_TRUE(write_reports(sample_run(), at("a/b")).ok());
  EXPECT_EQ(*list_directory(at("a/b")),
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
  const std::string script =
      "set -eu; cd " + shell_quote(folder_) +
      "; set -a; . ./ocrtune.env; set +a; "
      "test \"$OCRTUNE_NPROC_PER_NODE\" -ge 1; test -n \"$OMP_NUM_THREADS\"; "
      "test \"$PLAIN_NAME\" = " +
      shell_quote(hostile_text("value"));
  EXPECT_EQ(std::system(("sh -c " + shell_quote(script) + " 2>/dev/null").c_str()), 0)
      << env_file_text(run.result);
}

}  // namespace
}  // namespace ocrtune
