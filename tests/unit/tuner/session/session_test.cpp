#include "tuner/session/session.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/interrupt.h"
#include "tests/support/sample_jobs.h"
#include "tests/support/sample_windows.h"
#include "tests/unit/tuner/session/session_bed.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

// Four cores: more of them are faster, and so is a larger batch.
RecordedTable four_cores() {
  RecordedTable table;
  for (int nproc : {1, 2}) {
    for (int threads : {1, 2}) {
      for (int batch : {4, 8}) {
        TableRow row;
        row.knobs.nproc = nproc;
        row.knobs.threads = threads;
        row.knobs.batch = batch;
        row.samples_per_second = 50 * nproc * threads * batch / (batch + 4.0);
        row.peak_bytes = 100ULL << 20;
        row.noise_sigma = 0.01;
        table.rows.push_back(row);
      }
    }
  }
  return table;
}

struct Witness : SessionObserver {
  std::vector<Trial> trials;
  int begun = 0, shown = 0, proofs = 0;
  std::string not_kept;  // why, as it was said before the first trial
  void begins(const RunRecord&, const Machine&, double) override { ++begun; }
  void progress(const TuneProgress&) override { ++shown; }
  void measured(const Trial& trial) override { trials.push_back(trial); }
  void proves() override { ++proofs; }
  void keeps_nothing(const Error& why) override { not_kept = trials.empty() ? why.what : ""; }
};

// Notes the loads that trials are asked to run.
class NotingRunner : public Runner {
 public:
  NotingRunner(std::unique_ptr<Runner> inner, std::vector<TrialLimits>& asked)
      : inner_(std::move(inner)), asked_(asked) {}
  Trial run(const Knobs& knobs, const TrialLimits& limits) override {
    asked_.push_back(limits);
    return inner_->run(knobs, limits);
  }

 private:
  std::unique_ptr<Runner> inner_;
  std::vector<TrialLimits>& asked_;
};

// Sessions over a recorded table: no process is started and no time passes.
class SessionTest : public SessionBed {
 protected:
  void SetUp() override {
    SessionBed::SetUp();
    machine_.host = "box";
    machine_.cpu.logical_cpus = 4;
    doors_.probe = [this](const ProbeOptions& options) {
      probes_ += options.quick ? 0 : 1;
      return Result<Machine>(machine_);
    };
    doors_.runner = [this](const Job& job, const SearchRequest&, const Machine&) {
      rehearsed_ += job.program().rehearses ? 1 : 0;
      return Result<std::unique_ptr<Runner>>(std::make_unique<NotingRunner>(
          std::make_unique<TableRunner>(table_, clock_, ++seed_), asked_));
    };
  }

  TuneRequest request(double budget_seconds) const {
    TuneRequest request;
    request.search.axes = {{"nproc", {"1", "2"}}, {"threads", {"1", "2"}}, {"batch", {"4", "8"}},
                           {"workers", {"0"}},    {"binding", {"none"}},   {"precision", {"fp32"}}};
    request.search.baseline.batch = 4;
    request.search.budget_seconds = budget_seconds;
    request.search.trial_seconds = 1;
    request.machine = machine_;
    request.command_line = "ocrtune tune";
    return request;
  }
  Result<RunRecord> tuned(double budget_seconds) {
    return tune(request(budget_seconds), *store_, witness_, doors_);
  }
  TuneRequest warming_request() const {
    TuneRequest asked = request(300);
    asked.job = command_job({"/bin/true", "{nproc}"}, "", "torch");
    asked.search.axes = {{"nproc", {"1", "2"}},
                         {"threads", {"1"}},
                         {"batch", {"4"}},
                         {"workers", {"0"}},
                         {"binding", {"none"}}};
    return asked;
  }
  static Knobs best() { return *parse_knobs({"nproc=2", "threads=2", "batch=8"}); }

  RecordedTable table_ = four_cores();
  Witness witness_;
  std::uint64_t seed_ = 0;
  int probes_ = 0, rehearsed_ = 0;
  std::vector<TrialLimits> asked_;
};

// A program that warms up for ten seconds, to twice its first speed.
class WarmingRunner : public Runner {
 public:
  explicit WarmingRunner(Clock& clock) : clock_(&clock) {}
  Trial run(const Knobs& knobs, const TrialLimits& limits) override {
    constexpr double kWindow = 0.5, kWarmUp = 10;
    Trial trial;
    trial.outcome = Outcome::ok;
    const double base = 50 * knobs.nproc;
    double samples = 0, seconds = 0;
    while (seconds < limits.measure_seconds) {
      const double jitter = trial.samples.size() % 2 == 0 ? 1 : 1.01;
      trial.samples.push_back(window_of(base * jitter * (seconds < kWarmUp ? 1 : 2), kWindow));
      samples += trial.samples.back().samples;
      seconds += kWindow;
    }
    clock_->sleep_seconds(seconds);
    trial.seconds = seconds;
    trial.samples_per_second = samples / seconds;
    return trial;
  }

 private:
  Clock* clock_;
};

TEST_F(SessionTest, WhatIsLeftOfTheBudgetShowsWhetherTheRateLasts) {
  doors_.runner = [this](const Job&, const SearchRequest&, const Machine&) {
    return Result<std::unique_ptr<Runner>>(std::make_unique<WarmingRunner>(clock_));
  };
  const auto run = tune(warming_request(), *store_, witness_, doors_);
  ASSERT_TRUE(run) << run.error().what;
  ASSERT_TRUE(run->result.found);
  EXPECT_EQ(run->result.recommendation.knobs.nproc, 2);
  EXPECT_NEAR(run->result.recommendation.samples_per_second.median, 201, 6);
  EXPECT_NEAR(run->result.gain.median, 2, 0.1);
  EXPECT_LE(clock_.now_seconds(), 300 * 1.05);
  // Its trials are as long.
  VerifyRequest again;
  again.run = run->id;
  again.options.seconds = 300;
  const auto verified = verify(again, *store_, witness_, doors_);
  ASSERT_TRUE(verified) << verified.error().what;
  EXPECT_EQ(verified->verification.state, VerifyState::ok) << verified->verification.reason;
}

// Two processes fail once they have run for ten seconds.
class LateRunner : public Runner {
 public:
  LateRunner(Clock& clock, Outcome outcome) : warm_(clock), outcome_(outcome) {}
  Trial run(const Knobs& knobs, const TrialLimits& limits) override {
    Trial trial = warm_.run(knobs, limits);
    if (knobs.nproc == 1 || trial.seconds < 10) return trial;
    trial.outcome = outcome_;
    trial.counters.exit_code = 1;
    trial.samples_per_second = 0;
    trial.samples.clear();
    return trial;
  }

 private:
  WarmingRunner warm_;
  Outcome outcome_;
};

TEST_F(SessionTest, AWinnerThatFailsLaterIsNone) {
  for (const Outcome late : {Outcome::out_of_memory, Outcome::wrong_result, Outcome::crashed}) {
    const std::string name(outcome_name(late));
    SCOPED_TRACE(name);
    doors_.runner = [&](const Job&, const SearchRequest&, const Machine&) {
      return Result<std::unique_ptr<Runner>>(std::make_unique<LateRunner>(clock_, late));
    };
    const auto run = tune(warming_request(), *store_, witness_, doors_);
    ASSERT_TRUE(run) << run.error().what;
    ASSERT_TRUE(run->result.found);
    EXPECT_EQ(run->result.recommendation.knobs.nproc, 1);
    EXPECT_EQ(run->result.outcomes.at(name), 1);
  }
}

TEST_F(SessionTest, TuneKeepsEveryTrialAndRecommendsTheBest) {
  const auto run = tuned(30);
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_EQ(run->state, "done");
  EXPECT_EQ(probes_, 1);
  ASSERT_TRUE(run->result.found);
  EXPECT_EQ(run->result.recommendation.knobs, best());
  EXPECT_NEAR(run->result.gain.median, 16 / 3.0, 0.3);
  EXPECT_EQ(run->search.memory_limit_bytes, 8ULL << 30);
  EXPECT_EQ(witness_.trials.size(), run->trials.size());
  EXPECT_EQ(witness_.begun, 1);
  EXPECT_GT(witness_.shown, 0);
  const auto kept = judged_run(*store_, "last");
  ASSERT_TRUE(kept) << kept.error().what;
  EXPECT_EQ(kept->id, run->id);
  EXPECT_EQ(kept->state, "done");
  EXPECT_EQ(kept->trials.size(), run->trials.size());
  EXPECT_EQ(kept->result.recommendation.knobs, best());
}

// `numactl --membind` in the words bounds the memory: the kernel kills at the end of the node.
TEST_F(SessionTest, TheProbeIsToldTheCommandsWords) {
  std::vector<std::string> words;
  doors_.probe = [&](const ProbeOptions& options) {
    words = options.command;
    Machine machine = machine_;
    if (!words.empty()) machine.memory.available_bytes = 3ULL << 30;
    return Result<Machine>(machine);
  };
  TuneRequest bound = request(30);
  bound.search.axes = {{"nproc", {"1", "2"}}, {"threads", {"1", "2"}}, {"batch", {"4", "8"}}};
  bound.job = command_job({"numactl", "--membind=1", "train", "{nproc}", "{threads}", "{batch}"});
  const auto run = tune(bound, *store_, witness_, doors_);
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_EQ(words, bound.job.command());
  EXPECT_EQ(run->search.memory_limit_bytes, 3ULL << 30);
}

// A server that starts in ten seconds and does its most with 16 requests in flight; a search for
// that takes all the time that there is.
class ServingRunner : public Runner {
 public:
  ServingRunner(Clock& clock, std::vector<TrialLimits>& asked) : clock_(&clock), asked_(asked) {}
  Trial run(const Knobs& knobs, const TrialLimits& limits) override {
    asked_.push_back(limits);
    Trial trial;
    trial.knobs = knobs;
    trial.outcome = Outcome::ok;
    trial.samples_per_second = 100;
    trial.start_seconds = 10;
    trial.seconds = limits.in_flight > 0 ? 10 + limits.measure_seconds : limits.max_seconds;
    trial.seconds = std::min(trial.seconds, limits.max_seconds);
    trial.service.in_flight = 16;
    trial.samples.assign(2, window_of(100, 5));
    clock_->sleep_seconds(trial.seconds);
    return trial;
  }

 private:
  Clock* clock_;
  std::vector<TrialLimits>& asked_;
};

TEST_F(SessionTest, AServersLongerTrialIsPartOfTheBudgetAndSearchesNothing) {
  doors_.runner = [&](const Job&, const SearchRequest&, const Machine&) {
    return Result<std::unique_ptr<Runner>>(std::make_unique<ServingRunner>(clock_, asked_));
  };
  TuneRequest serving = request(180);
  serving.job = service_job("http://127.0.0.1:{port}/", {"serve", "{port}"});
  serving.search.axes = {{"nproc", {"1"}}};
  const auto run = tune(serving, *store_, witness_, doors_);
  ASSERT_TRUE(run) << run.error().what;
  ASSERT_TRUE(run->result.found);
  ASSERT_FALSE(asked_.empty());
  EXPECT_EQ(run->soaks.size(), 1U);
  EXPECT_EQ(asked_.back().in_flight, 16);
  EXPECT_LE(clock_.now_seconds(), 180 * 1.05);
}

// Two processes come to the end of their inputs within ten seconds, and may read one otherwise.
class DoneRunner : public Runner {
 public:
  DoneRunner(Clock& clock, bool& differs) : warm_(clock), differs_(differs) {}
  Trial run(const Knobs& knobs, const TrialLimits& limits) override {
    Trial trial = warm_.run(knobs, limits);
    if (knobs.nproc == 1 || trial.seconds < 10) return trial;
    trial.outcome = again_ ? Outcome::wrong_result : Outcome::crashed;
    trial.cause = "ended";
    trial.counters.exit_code = 0;
    trial.same.not_compared = NotCompared::no;
    if (differs_) trial.same.differing.emplace_back();
    again_ = differs_;
    return trial;
  }

 private:
  WarmingRunner warm_;
  bool& differs_;
  bool again_ = false;
};

TEST_F(SessionTest, AWinnerThatComesToItsEndStaysSoUnlessItReadsOtherwise) {
  bool differs = false;
  doors_.runner = [&](const Job&, const SearchRequest&, const Machine&) {
    return Result<std::unique_ptr<Runner>>(std::make_unique<DoneRunner>(clock_, differs));
  };
  const auto run = tune(warming_request(), *store_, witness_, doors_);
  EXPECT_EQ(run->result.recommendation.knobs.nproc, 2);
  EXPECT_EQ(run->result.outcomes.at("skipped"), 1) << "its texts count, and it is no crash";
  differs = true;
  const auto other = tune(warming_request(), *store_, witness_, doors_);
  EXPECT_EQ(other->result.recommendation.knobs.nproc, 1);
  EXPECT_EQ(other->result.outcomes.at("wrong_result"), 1);
}

// A server that reads otherwise under a load that lasts.
class DriftingRunner : public ServingRunner {
 public:
  using ServingRunner::ServingRunner;
  Trial run(const Knobs& knobs, const TrialLimits& limits) override {
    Trial trial = ServingRunner::run(knobs, limits);
    if (knobs.nproc == 1) trial.samples_per_second = 50;
    if (knobs.nproc == 2 && limits.in_flight > 0) trial.outcome = Outcome::wrong_result;
    return trial;
  }
};

TEST_F(SessionTest, AServerThatReadsOtherwiseInItsLongerTrialIsNone) {
  doors_.runner = [&](const Job&, const SearchRequest&, const Machine&) {
    return Result<std::unique_ptr<Runner>>(std::make_unique<DriftingRunner>(clock_, asked_));
  };
  TuneRequest serving = request(600);
  serving.job = service_job("http://127.0.0.1:{port}/", {"serve", "{port}", "{nproc}"});
  serving.search.axes = {{"nproc", {"1", "2"}}};
  const auto run = tune(serving, *store_, witness_, doors_);
  ASSERT_TRUE(run) << run.error().what;
  ASSERT_TRUE(run->result.found);
  EXPECT_EQ(run->result.recommendation.knobs.nproc, 1);
}

TEST_F(SessionTest, AWinnerThatEvaluatesIsRehearsedOnce) {
  TuneRequest evaluates = request(100);
  evaluates.job = command_job({"train"});
  evaluates.job.user()->evaluation_steps = 2000;
  const auto run = tune(evaluates, *store_, witness_, doors_);
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_EQ(rehearsed_, 1);
  EXPECT_EQ(witness_.trials.size(), run->trials.size()) << "a rehearsal is no trial of the search";
  const auto kept = judged_run(*store_, "last");
  ASSERT_TRUE(kept) << kept.error().what;
  EXPECT_EQ(kept->trials.size(), run->trials.size());
  ASSERT_EQ(kept->rehearsals.size(), 1U);
  EXPECT_EQ(kept->rehearsals[0].knobs, kept->result.recommendation.knobs);
  EXPECT_EQ(kept->result.seconds, run->result.seconds);
  ResumeRequest more;
  more.budget_seconds = 100;
  ASSERT_TRUE(resume(more, *store_, witness_, doors_));
  EXPECT_EQ(rehearsed_, 1);
  EXPECT_EQ(rehearsal_seconds(request(100).job, request(100).search), 0) << "nothing to rehearse";
}

// Reads its files from memory until they are dropped: then from the disk, at half the rate.
class CachingRunner : public Runner {
 public:
  CachingRunner(Clock& clock, bool& dropped, const char* beside)
      : inner_(clock), dropped_(dropped), beside_(beside) {}
  Trial run(const Knobs& knobs, const TrialLimits& limits) override {
    Trial trial = inner_.run(knobs, limits);
    StageUse& use = trial.stages;
    use.observed_seconds = 4;
    use.opened_bytes = 200'000'000;
    use.read_bytes_per_second = 100e6;
    use.opened_files = std::make_shared<const std::vector<std::string>>(1, "pages.lmdb");
    trial.threads.alive = 1;
    if (dropped_) {
      use.storage_bytes_per_second = 50e6;
      trial.samples_per_second /= 2;
      dropped_ = false;
      for (Sample& sample : trial.samples) sample.interference.spoilt_by = beside_;
    }
    return trial;
  }

 private:
  WarmingRunner inner_;
  bool& dropped_;
  const char* beside_;
};

TEST_F(SessionTest, AWinnerThatReadsFromMemoryRunsOnceFromTheDisk) {
  bool dropped = false;
  const char* beside = "";
  std::vector<std::string> files;
  doors_.drop_from_memory = [&](const std::vector<std::string>& named) {
    files = named;
    dropped = true;
    return std::uint64_t{1};
  };
  doors_.runner = [&](const Job&, const SearchRequest&, const Machine&) {
    return Result<std::unique_ptr<Runner>>(
        std::make_unique<CachingRunner>(clock_, dropped, beside));
  };
  const auto run = tune(warming_request(), *store_, witness_, doors_);
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_THAT(files, ::testing::ElementsAre("pages.lmdb"));
  const auto kept = judged_run(*store_, "last");
  ASSERT_TRUE(kept) << kept.error().what;
  ASSERT_EQ(kept->cold.size(), 1U);
  EXPECT_EQ(kept->trials.size(), run->trials.size()) << "its rate is no trial's rate";
  EXPECT_EQ(kept->cold[0].knobs, kept->result.recommendation.knobs);
  beside = "external_cpus";
  ASSERT_TRUE(tune(warming_request(), *store_, witness_, doors_));
  const auto loaded = judged_run(*store_, "last");
  ASSERT_TRUE(loaded) << loaded.error().what;
  ASSERT_EQ(loaded->cold.size(), 2U) << "beside load, one that reads from memory follows";
  EXPECT_TRUE(reads_from_memory(loaded->cold[1].stages));
}

TEST_F(SessionTest, StoppedInTheRehearsalIsInterrupted) {
  struct Stopper : Witness {
    void rehearses() override {
      ::kill(::getpid(), SIGTERM);
      while (!interrupted()) std::this_thread::yield();
    }
  };
  const auto stop = [&] {
    catch_interrupts();
    Stopper stopper;
    TuneRequest evaluates = request(100);
    evaluates.job = command_job({"train"});
    evaluates.job.user()->evaluation_steps = 2000;
    const auto run = tune(evaluates, *store_, stopper, doors_);
    const bool said = run && run->state == "interrupted" && run->result.found;
    ::_exit(said && run->stop_reason == "interrupted" ? 0 : 1);
  };
  EXPECT_EXIT(stop(), testing::ExitedWithCode(0), "");
}

TEST_F(SessionTest, TimeBeforeTheCallIsPartOfTheBudget) {
  TuneRequest late = request(10);
  late.spent_seconds = 6;
  const auto run = tune(late, *store_, witness_, doors_);
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_LE(run->trials.size(), 4U);
  EXPECT_EQ(run->stop_reason, "budget");
  EXPECT_EQ(probes_, 0) << "ten seconds are for the trials";
}

TEST_F(SessionTest, AMistakeIsSaidBeforeAnythingIsMeasuredOrKept) {
  TuneRequest wrong = request(30);
  wrong.search.constraints = {"batch>=100"};
  const auto run = tune(wrong, *store_, witness_, doors_);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().kind, ErrorKind::usage);
  EXPECT_THAT(run.error().what, HasSubstr("leaves no setting"));
  EXPECT_EQ(witness_.begun, 0);
  EXPECT_TRUE((*store_->list_runs()).empty());
}

TEST_F(SessionTest, ResumeGoesOnFromTheStoredTrials) {
  const auto stopped = tuned(4);
  ASSERT_TRUE(stopped) << stopped.error().what;
  EXPECT_EQ(stopped->stop_reason, "budget");
  ResumeRequest more;
  more.budget_seconds = 40;
  const auto run = resume(more, *store_, witness_, doors_);
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_EQ(run->id, stopped->id);
  EXPECT_GT(run->trials.size(), stopped->trials.size());
  for (std::size_t i = 0; i < stopped->trials.size(); ++i) {
    EXPECT_EQ(run->trials[i].id, stopped->trials[i].id);
  }
  EXPECT_EQ(run->result.recommendation.knobs, best());
  EXPECT_EQ(judged_run(*store_, run->id)->trials.size(), run->trials.size());
}

TEST_F(SessionTest, ResumeWithoutABudgetHasWhatIsLeft) {
  ASSERT_TRUE(tuned(4));
  const std::size_t before = witness_.trials.size();
  const auto run = resume({}, *store_, witness_, doors_);
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_EQ(witness_.trials.size(), before);
  EXPECT_EQ(run->stop_reason, "budget");
}

TEST_F(SessionTest, ResumeRefusesTheRunOfAnotherMachine) {
  ASSERT_TRUE(tuned(4));
  machine_.fingerprint = "beef";
  const auto run = resume({}, *store_, witness_, doors_);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().kind, ErrorKind::usage);
  EXPECT_THAT(run.error().what, HasSubstr("another machine (box)"));
}

TEST_F(SessionTest, VerifySaysAtTheStartThatItsAnswerIsNotKept) {
  ASSERT_TRUE(tuned(4));
  witness_.trials.clear();
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(join_path(folder_, "runs.sqlite").c_str(), 0444), 0);
  const uid_t user = ::geteuid();
  if (user == 0) {  // who may write to everything
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const auto answer = verify({}, *store_, witness_, doors_);
  ASSERT_EQ(::seteuid(user), 0);
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_FALSE(answer->kept);
  EXPECT_THAT(witness_.not_kept, HasSubstr("readonly"));
  EXPECT_FALSE(witness_.trials.empty());
}

TEST_F(SessionTest, VerifyIsOkAsLongAsTheMachineIsAsItWas) {
  ASSERT_TRUE(tuned(30));
  const auto same = verify({}, *store_, witness_, doors_);
  ASSERT_TRUE(same) << same.error().what;
  EXPECT_EQ(same->verification.state, VerifyState::ok) << same->verification.reason;
  EXPECT_EQ(same->verification.recommended, best());
  ASSERT_TRUE(same->kept);
  EXPECT_THAT(store_->events(same->run.id)->back().text, HasSubstr("verify OK"));

  for (TableRow& row : table_.rows) row.samples_per_second *= 0.6;
  const auto slower = verify({}, *store_, witness_, doors_);
  ASSERT_TRUE(slower) << slower.error().what;
  EXPECT_EQ(slower->verification.state, VerifyState::drift) << slower->verification.reason;

  for (TableRow& row : table_.rows) {
    if (row.knobs == best()) row.outcome = Outcome::out_of_memory;
  }
  const auto fails = verify({}, *store_, witness_, doors_);
  ASSERT_TRUE(fails) << fails.error().what;
  EXPECT_EQ(fails->verification.state, VerifyState::unsafe);
  EXPECT_EQ(fails->verification.trials.size(), 1U) << "a danger is settled by one look";
}

TEST_F(SessionTest, VerifyRunsTheCommandInTheFolderThatIsNamed) {
  TuneRequest tuned_elsewhere = warming_request();
  tuned_elsewhere.job.user()->command.directory = "/home/a/checkout";
  ASSERT_TRUE(tune(tuned_elsewhere, *store_, witness_, doors_));
  std::vector<std::string> folders;
  doors_.runner = [&](const Job& job, const SearchRequest&, const Machine&) {
    folders.push_back(job.program().directory);
    return Result<std::unique_ptr<Runner>>(std::make_unique<TableRunner>(table_, clock_, 1));
  };
  VerifyRequest moved;
  ASSERT_TRUE(verify(moved, *store_, witness_, doors_));
  moved.directory = "/builds/checkout";
  ASSERT_TRUE(verify(moved, *store_, witness_, doors_));
  EXPECT_THAT(folders, testing::ElementsAre("/home/a/checkout", "/builds/checkout"));
}

TEST_F(SessionTest, VerifyNeedsARecommendation) {
  for (TableRow& row : table_.rows) row.outcome = Outcome::crashed;
  const auto run = tuned(20);
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_FALSE(run->result.found);
  EXPECT_THAT(run->stop_reason, HasSubstr("failed in the same way"));
  const auto answer = verify({}, *store_, witness_, doors_);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::missing);
}

TEST_F(SessionTest, TheWinnersLatencyTargetIsProvedAtFullLength) {
  TuneRequest bounded = request(40);
  bounded.job = reading_job("p99=50ms");
  bounded.search.axes["queue"] = {"shared"};
  const auto run = tune(bounded, *store_, witness_, doors_);
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_EQ(witness_.proofs, 1);
  ASSERT_FALSE(asked_.empty());
  EXPECT_NEAR(asked_.back().proves.requests_per_second, 0.92 * 133, 5)
      << "a margin below the rate of the search";
  EXPECT_EQ(run->trials.back().phase, "proof");
  EXPECT_EQ(judged_run(*store_, run->id)->trials.back().phase, "proof");
}

}  // namespace
}  // namespace ocrtune
