// A run that cannot go on stays what it was.
#include <stdlib.h>

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tuner/session/session_bed.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

class RefusedResume : public SessionBed {
 protected:
  void SetUp() override {
    SessionBed::SetUp();
    for (const int nproc : {1, 2}) {
      TableRow row;
      row.knobs.nproc = nproc;
      row.knobs.batch = 4;
      row.samples_per_second = 50 * nproc;
      row.peak_bytes = 100ULL << 20;
      table_.rows.push_back(row);
    }
    doors_.runner = [this](const Job&, const SearchRequest&, const Machine&) {
      return Result<std::unique_ptr<Runner>>(std::make_unique<TableRunner>(table_, clock_, 1));
    };
    TuneRequest request;
    request.search.axes = {{"nproc", {"1", "2"}}, {"threads", {"1"}},    {"batch", {"4"}},
                           {"workers", {"0"}},    {"binding", {"none"}}, {"precision", {"fp32"}}};
    request.search.baseline.batch = 4;
    request.search.budget_seconds = 10;
    request.search.trial_seconds = 1;
    request.machine = machine_;
    const auto run = tune(request, *store_, witness_, doors_);
    ASSERT_TRUE(run) << run.error().what;
    ASSERT_EQ(run->state, "done");
    before_ = (*store_->list_runs())[0];
    reason_ = run->stop_reason;
  }

  void expect_unchanged() const {
    const RunListing now = (*store_->list_runs())[0];
    EXPECT_EQ(now.state, "done");
    EXPECT_EQ(now.verdict, before_.verdict);
    EXPECT_EQ(now.trials, before_.trials);
    EXPECT_EQ(store_->load_run("last")->stop_reason, reason_);
  }

  std::string reason_;
  RunListing before_;
  RecordedTable table_;
  SessionObserver witness_;
};

TEST_F(RefusedResume, ACommandThatCannotBeStarted) {
  doors_.runner = [](const Job&, const SearchRequest&, const Machine&) {
    return Result<std::unique_ptr<Runner>>(Error{ErrorKind::missing, "no folder /gone"});
  };
  ResumeRequest more;
  more.budget_seconds = 40;
  const auto run = resume(more, *store_, witness_, doors_);
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().what, HasSubstr("/gone"));
  expect_unchanged();
}

TEST_F(RefusedResume, AMachineWhoseTurnCannotBeTaken) {
  ::setenv("OCRTUNE_LOCK_DIR", join_path(folder_, "none").c_str(), 1);
  const auto run = resume({}, *store_, witness_, doors_);
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().what, HasSubstr("OCRTUNE_LOCK_DIR"));
  expect_unchanged();
}

}  // namespace
}  // namespace ocrtune
