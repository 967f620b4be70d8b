// From the words of a command line to the result of a run, for each kind of job: only the trials
// are played.
#include <cstdlib>
#include <functional>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/tune/tune_flags.h"
#include "tests/unit/tuner/session/session_bed.h"
#include "tuner/session/tune_setup.h"

namespace ocrtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// More processes are faster, and so is a larger batch.
class PlayedRunner : public Runner {
 public:
  explicit PlayedRunner(CountingClock& clock) : clock_(&clock) {}

  Trial run(const Knobs& knobs, const TrialLimits& limits) override {
    TableRow row;
    row.knobs = knobs;
    row.samples_per_second = 50 * knobs.nproc * knobs.batch / (knobs.batch + 4.0);
    row.peak_bytes = 100ULL << 20;
    row.noise_sigma = 0.01;
    RecordedTable table;
    table.rows = {row};
    return TableRunner(table, *clock_, ++seed_).run(knobs, limits);
  }

 private:
  CountingClock* clock_;
  std::uint64_t seed_ = 0;
};

class TuneRoute : public SessionBed {
 protected:
  void SetUp() override {
    SessionBed::SetUp();
    machine_.cpu.logical_cpus = 4;
    doors_.runner = [this](const Job& job, const SearchRequest&, const Machine&) {
      played_ = job.kind.index();
      return Result<std::unique_ptr<Runner>>(std::make_unique<PlayedRunner>(clock_));
    };
  }

  // `more`: what the flags do not say where the test has no Python with paddle.
  Result<RunRecord> tuned(std::vector<std::string> words,
                          const std::function<void(JobFlags&)>& more = {}) {
    std::ptrdiff_t asked = 0;
    for (const char* own : {"--budget", "30s", "--nproc", "1,2", "--batch", "4,8", "--baseline",
                            "nproc=1,threads=1 batch=4"}) {
      words.insert(words.begin() + asked++, own);
    }
    return tuned_as_typed(words, more);
  }

  Result<RunRecord> tuned_as_typed(const std::vector<std::string>& words,
                                   const std::function<void(JobFlags&)>& more = {}) {
    Flags cli;
    TuneFlags flags;
    declare_amounts(cli, flags);
    declare_workload(cli, flags);
    OCRTUNE_TRY(parse_flags(cli, words));
    if (more) more(flags.typed);
    OCRTUNE_TRY(read_tune_flags(flags));
    OCRTUNE_TRY(read_data(flags));
    make_job(flags);
    OCRTUNE_TRY(settle_flags(flags, machine_));
    OCRTUNE_TRY(check_setup(flags, machine_));
    TuneRequest request;
    request.job = flags.job;
    request.search = flags.search;
    request.machine = machine_;
    SessionObserver nobody;
    return tune(request, *store_, nobody, doors_);
  }

  // The run has an answer, and is the same when it comes from the store.
  void expect_answer(const Result<RunRecord>& run, std::size_t kind) {
    ASSERT_TRUE(run) << run.error().what;
    EXPECT_EQ(played_, kind);
    EXPECT_EQ(run->job.kind.index(), kind);
    EXPECT_EQ(run->search.baseline.batch, 4);
    ASSERT_TRUE(run->result.found);
    EXPECT_EQ(run->result.recommendation.knobs.nproc, 2);
    EXPECT_EQ(run->result.recommendation.knobs.batch, 8);
    EXPECT_EQ(run->result.verdict.answer, Answer::use);
    const auto stored = judged_run(*store_, "last");
    ASSERT_TRUE(stored) << stored.error().what;
    EXPECT_EQ(stored->job.kind.index(), kind);
    EXPECT_EQ(stored->result.recommendation.knobs, run->result.recommendation.knobs);
    EXPECT_EQ(stored->result.recommendation.command, run->result.recommendation.command);
    EXPECT_EQ(stored->result.verdict.answer, Answer::use);
  }

  std::size_t played_ = 99;
};

TEST_F(TuneRoute, TheEngineTrains) {
  const auto run = tuned({"--model", "crnn"});
  expect_answer(run, 0);
  EXPECT_FALSE(run->job.infers());
}

TEST_F(TuneRoute, TheEngineReads) {
  const auto run = tuned({"--mode", "infer"});
  expect_answer(run, 1);
  EXPECT_TRUE(run->job.infers());
}

TEST_F(TuneRoute, ACommandPrintsItsSpeed) {
  const auto run = tuned({"--metric", "rate:samples/s", "--", "/bin/sh", "-c", "true", "{nproc}",
                          "{threads}", "{batch}"});
  expect_answer(run, 2);
  EXPECT_THAT(run->job.command(),
              ElementsAre("/bin/sh", "-c", "true", "{nproc}", "{threads}", "{batch}"));
  EXPECT_EQ(run->result.recommendation.command.find('{'), std::string::npos)
      << run->result.recommendation.command;
}

TEST_F(TuneRoute, AnotherProgramTrainsOurModel) {
  const auto run = tuned({"--model", "crnn", "--", "/bin/sh", "-c", "true", "{nproc}", "{batch}"},
                         [](JobFlags& typed) {
                           typed.program.log_reader = "paddleocr";
                           typed.external = true;
                         });
  expect_answer(run, 3);
  EXPECT_EQ(run->job.model(), "crnn");
}

TEST_F(TuneRoute, AServerAnswersRequests) {
  const auto run = tuned({"--mode", "infer", "--url", "http://127.0.0.1:{port}/", "--", "/bin/sh",
                          "-c", "true", "{port}", "{nproc}", "{batch}"});
  expect_answer(run, 4);
  EXPECT_TRUE(run->job.serves());
}

// All that is refused is something that the user named.
TEST_F(TuneRoute, APlainCommandMakesItsSetupOnce) {
  const int before = tune_setups_made();
  const auto run = tuned_as_typed(
      {"--budget", "90s", "--metric", "rate:samples/s", "--", "/bin/sh", "-c", "true"});
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_GT(run->trials.size(), 1U);
  EXPECT_GT(run->search.axes.at("threads").size(), 1U) << "which the user did not list";
  EXPECT_EQ(tune_setups_made() - before, 1);
}

TEST_F(TuneRoute, ListsAreCheckedBeforeTheCommandRuns) {
  const int before = tune_setups_made();
  const std::vector<std::string> words = {"--metric", "rate:samples/s", "--",      "/bin/sh",
                                          "-c",       "true",           "{nproc}", "{batch}"};
  ASSERT_TRUE(tuned(words));
  EXPECT_EQ(tune_setups_made() - before, 2);
  std::vector<std::string> no_way = {"--constraint", "nproc>=3"};
  no_way.insert(no_way.end(), words.begin(), words.end());
  const auto refused = tuned(no_way);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("'nproc>=3' leaves no setting to try"));
  EXPECT_EQ(tune_setups_made() - before, 3) << "by the check, not by tune()";
}

}  // namespace
}  // namespace ocrtune
