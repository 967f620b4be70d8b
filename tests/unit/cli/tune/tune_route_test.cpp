// From the words of a command line to the result of a run, for each kind of job: only the trials
// are played.
#include <cstdlib>
#include <functional>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/tune/tune_flags.h"
#include "tests/unit/tuner/session/session_bed.h"

namespace ocrtune {
namespace {

using ::testing::ElementsAre;

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
    for (const char* own : {"--budget", "30s", "--nproc", "1,2", "--batch", "4,8", "--baseline",
                            "nproc=1,threads=1 batch=4"}) {
      words.insert(words.begin() + asked_++, own);
    }
    asked_ = 0;
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
  std::ptrdiff_t asked_ = 0;
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

}  // namespace
}  // namespace ocrtune
