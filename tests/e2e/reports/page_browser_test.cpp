// Drives the page in headless Chromium; skipped, with the reason, where there is none.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "reports/html/page.h"
#include "tests/support/sample_runs.h"

namespace ocrtune {
namespace {

bool installed(const char* program) {
  return std::system((std::string("command -v ") + program + " >/dev/null 2>&1").c_str()) == 0;
}

class PageInBrowser : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* program : {"chromium", "chromedriver", "python3"}) {
      if (!installed(program)) GTEST_SKIP() << "no " << program << " on PATH";
    }
    folder_ = *make_temporary_directory("page");
  }
  void TearDown() override {
    if (folder_.empty()) return;
    EXPECT_TRUE(remove_tree(folder_).ok());
  }

  std::string write(const std::string& name, const std::string& page) {
    const std::string path = join_path(folder_, name);
    EXPECT_TRUE(write_file(path, page).ok());
    return path;
  }

  // Runs tests/support/drive_page.py with the arguments; its output is the failure's message.
  void drive(const std::string& arguments) {
    const std::string log = join_path(folder_, "log");
    const std::string line = "python3 " + std::string(OCRTUNE_SOURCE_DIR) +
                             "/tests/support/drive_page.py " + arguments + " >" + log + " 2>&1";
    const int status = std::system(line.c_str());
    EXPECT_EQ(status, 0) << read_file(log).value_or("no output");
  }

  std::string folder_;
};

TEST_F(PageInBrowser, EveryPartWorks) {
  const std::string page = write("report.html", page_html(sample_run(300)));
  const std::string hostile = write("hostile.html", page_html(hostile_run()));
  const std::string empty = write("empty.html", page_html(empty_run()));
  const std::string failed = write("failed.html", page_html(run_without_success()));
  drive(shell_join({"works:" + page, "hostile:" + hostile, "opens:" + empty, "opens:" + failed}));
}

TEST_F(PageInBrowser, AMarkShowsItsSettingWhateverItsTextHolds) {
  RunRecord run = sample_run(70);
  for (Trial& trial : run.trials) trial.knobs.dims["seconds"] = "a b";
  for (SettingSummary& setting : run.result.settings) setting.knobs.dims["seconds"] = "a b";
  drive("mark:" + write("mark.html", page_html(run)));
}

TEST_F(PageInBrowser, TenThousandTrialsOpenAndScroll) {
  drive("large:" + write("large.html", page_html(sample_run(10000))));
}

// Not a check but a way to look: OCRTUNE_PAGE_DIR=folder keeps the sample pages there.
TEST(Pages, AreKeptWhenAsked) {
  const char* folder = std::getenv("OCRTUNE_PAGE_DIR");
  if (folder == nullptr) GTEST_SKIP() << "OCRTUNE_PAGE_DIR is not set";
  ASSERT_TRUE(make_directories(folder).ok());
  const std::pair<const char*, RunRecord> runs[] = {
      {"sample", sample_run(70)}, {"many", sample_run(300)}, {"large", sample_run(10000)},
      {"hostile", hostile_run()}, {"empty", empty_run()},    {"failed", run_without_success()}};
  for (const auto& [name, run] : runs) {
    EXPECT_TRUE(write_file(join_path(folder, std::string(name) + ".html"), page_html(run)).ok());
  }
}

}  // namespace
}  // namespace ocrtune
