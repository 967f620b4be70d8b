#include "cli/tune/live_page.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "tests/support/sample_runs.h"

namespace ocrtune {
namespace {

// Each look at it takes `step` seconds.
class SteppingClock final : public Clock {
 public:
  explicit SteppingClock(double step) : step_(step) {}
  double now_seconds() override { return now_ += step_; }
  void sleep_seconds(double seconds) override { now_ += seconds; }

 private:
  double step_, now_ = 0;
};

class LivePageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("live-page-test");
    run_ = empty_run();
    run_.state = "running";
  }
  void TearDown() override { (void)remove_tree(folder_).ok(); }
  std::string page() const {
    const auto text = read_file(join_path(folder_, "report.html"));
    return text ? *text : "";
  }

  std::string folder_;
  RunRecord run_;
  const std::vector<Trial> trials_ = sample_run(20).trials;
};

TEST_F(LivePageTest, IsWrittenAnewAfterEachTrial) {
  SteppingClock clock(0);
  LivePage live(folder_, clock);
  live.begins(run_);
  EXPECT_EQ(page(), "");
  EXPECT_EQ(live.add(trials_[0]), join_path(folder_, "report.html"));
  const std::string first = page();
  EXPECT_NE(first.find("data-refresh-seconds"), std::string::npos);
  EXPECT_NE(first.find(">UNFINISHED<"), std::string::npos);
  EXPECT_EQ(live.add(trials_[1]), "") << "said once";
  EXPECT_NE(page(), first);
}

// Judging a large space takes a while, which the budget pays: a page that took 1 s waits for 19.
TEST_F(LivePageTest, TakesATwentiethOfTheTime) {
  SteppingClock clock(1);
  LivePage live(folder_, clock);
  live.begins(run_);
  live.add(trials_[0]);
  const std::string first = page();
  live.add(trials_[1]);
  EXPECT_EQ(page(), first);
  clock.sleep_seconds(18);
  live.add(trials_[2]);
  EXPECT_NE(page(), first);
}

TEST_F(LivePageTest, APageThatCannotBeWrittenIsLeftOut) {
  SteppingClock clock(0);
  LivePage live(join_path(folder_, "absent"), clock);
  live.begins(run_);
  EXPECT_EQ(live.add(trials_[0]), "");
  LivePage none("", clock);
  none.begins(run_);
  EXPECT_EQ(none.add(trials_[0]), "");
}

}  // namespace
}  // namespace ocrtune
