// A run that cannot go on stays what it was.
#include <stdlib.h>

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "trial/table_runner.h"
#include "tuner/session/session.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

struct NoWitness : SessionObserver {
  void begins(const RunRecord&, const Machine&, double) override {}
  void progress(const TuneProgress&) override {}
  void measured(const Trial&) override {}
};

class RefusedResume : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("resume_test");
    ::setenv("OCRTUNE_LOCK_DIR", folder_.c_str(), 1);
    store_ = *Store::open(join_path(folder_, "runs.sqlite"), Store::Mode::write);
    machine_.fingerprint = "f00d";
    machine_.cpu.logical_cpus = 2;
    machine_.memory.available_bytes = 8ULL << 30;
    doors_.clock = &clock_;
    doors_.probe = [this](const ProbeOptions&) { return Result<Machine>(machine_); };
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
  void TearDown() override {
    ::unsetenv("OCRTUNE_LOCK_DIR");
    store_.reset();
    EXPECT_TRUE(remove_tree(folder_));
  }

  void expect_unchanged() const {
    const RunListing now = (*store_->list_runs())[0];
    EXPECT_EQ(now.state, "done");
    EXPECT_EQ(now.verdict, before_.verdict);
    EXPECT_EQ(now.trials, before_.trials);
    EXPECT_EQ(store_->load_run("last")->stop_reason, reason_);
  }

  std::string folder_, reason_;
  std::unique_ptr<Store> store_;
  RunListing before_;
  Machine machine_;
  RecordedTable table_;
  CountingClock clock_;
  SessionDoors doors_;
  NoWitness witness_;
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
