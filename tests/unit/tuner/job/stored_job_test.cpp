#include "tuner/job/stored_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/sample_jobs.h"

namespace ocrtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Job through_the_store(const Job& job) {
  auto again = parse_job(job_json(job));
  EXPECT_TRUE(again) << again.error().what;
  EXPECT_EQ(job_json(*again), job_json(job));
  EXPECT_EQ(again->kind.index(), job.kind.index());
  return *again;
}

TEST(StoredJob, ATrainingKeepsItsLinesAndGpus) {
  TrainingJob trains;
  trains.engine.training.heights = {32, 48};
  trains.engine.training.queue_depth = 5;
  trains.engine.training.width_buckets = 4;
  trains.engine.widest_bucket = 208;
  trains.engine.gpus = {"GPU-a", "GPU-b"};
  trains.engine.tensor_cores = true;
  trains.gpu_memory_bytes = 8ULL << 30;
  const Job job = through_the_store({trains});
  EXPECT_THAT(job.training().heights, ElementsAre(32, 48));
  EXPECT_EQ(job.training().queue_depth, 5);
  EXPECT_EQ(std::get<TrainingJob>(job.kind).engine.widest_bucket, 208);
  EXPECT_TRUE(std::get<TrainingJob>(job.kind).engine.tensor_cores);
  EXPECT_TRUE(job.on_gpus());
  EXPECT_EQ(limit_bytes(job, SearchRequest()), 8ULL << 30);
  EXPECT_FALSE(job.infers());
}

TEST(StoredJob, AReadingKeepsWhatIsAskedOfIt) {
  const Job job = through_the_store(reading_job("p99=50ms", "lines"));
  EXPECT_EQ(job.slo(), "p99=50ms");
  EXPECT_EQ(job.requests().place, "lines");
  EXPECT_TRUE(job.infers());
  EXPECT_FALSE(job.prints());
  EXPECT_FALSE(job.serves());
}

TEST(StoredJob, ACommandKeepsHowItIsReadAndWhereItRuns) {
  Job made = command_job({"python3", "caf\xE9.py", "{batch}"}, "paddleocr", "runs:4");
  CommandJob& command = std::get<CommandJob>(made.kind);
  command.user.command.per_rank = false;
  command.user.command.setup = {"make data", "sync"};
  command.user.evaluation_steps = 2000;
  command.user.trains = false;
  command.hosts = {"n1", "n2"};
  command.launcher = "srun";
  const Job job = through_the_store(made);
  EXPECT_EQ(job.command(), made.command()) << "a word that is no UTF-8 stays as it is";
  EXPECT_EQ(job.program().per_rank, false);
  EXPECT_THAT(job.program().setup, ElementsAre("make data", "sync"));
  EXPECT_EQ(job.user()->evaluation_steps, 2000);
  EXPECT_THAT(job.command_job().hosts, ElementsAre("n1", "n2"));
  EXPECT_TRUE(job.prints());
  EXPECT_TRUE(job.infers());
}

TEST(StoredJob, AnExternalTrainingKeepsItsModelAndItsHosts) {
  Job made = hosts_job({"n1", "n2"}, "ssh");
  std::get<ExternalJob>(made.kind).training.model = "svtr";
  std::get<ExternalJob>(made.kind).in_paddle = true;
  const Job job = through_the_store(made);
  EXPECT_EQ(job.model(), "svtr");
  EXPECT_TRUE(std::get<ExternalJob>(job.kind).in_paddle);
  EXPECT_THAT(job.command_job().hosts, ElementsAre("n1", "n2"));
  EXPECT_TRUE(job.prints());
}

TEST(StoredJob, AServiceKeepsItsAddressAndItsCommand) {
  const Job job = through_the_store(service_job("http://127.0.0.1:{port}/", {"serve"}));
  EXPECT_EQ(job.url(), "http://127.0.0.1:{port}/");
  EXPECT_THAT(job.command(), ElementsAre("serve"));
  EXPECT_TRUE(job.serves());
  EXPECT_TRUE(job.infers());
}

TEST(StoredJob, NoSecretIsStored) {
  Job made = command_job({"train", "--api-key", "abcdef"});
  made.user()->launch = made.command();
  made.user()->command.environment = {{"API_TOKEN", "ghijkl"}, {"LANG", "C"}};
  made.user()->command.setup = {"login --password mnopqr"};
  EXPECT_THAT(job_json(made), Not(HasSubstr("abcdef")));
  EXPECT_THAT(job_json(made), Not(HasSubstr("ghijkl")));
  EXPECT_THAT(job_json(made), Not(HasSubstr("mnopqr")));
  const Job job = through_the_store(made);
  EXPECT_THAT(job.program().inherited, ElementsAre("API_TOKEN"));
}

TEST(StoredJob, ADamagedOneIsRefused) {
  for (const char* damaged :
       {"{", "[1]", "{}", R"({"kind": "dance"})", R"({"kind": "command", "user": 1})",
        R"({"kind": "training", "engine": {"lines": "many"}})"}) {
    const auto job = parse_job(damaged);
    ASSERT_FALSE(job) << damaged;
    EXPECT_EQ(job.error().kind, ErrorKind::invalid) << damaged;
  }
  EXPECT_FALSE(parse_search("{"));
  EXPECT_FALSE(parse_search("[1]"));
  EXPECT_FALSE(parse_search("{}")) << "a search has a baseline";
}

TEST(StoredSearch, GoesBothWays) {
  SearchRequest search;
  search.budget_seconds = 77;
  search.axes = {{"batch", {"8", "16"}}, {"flavour", {"mild"}}};
  search.fixed = {"flavour"};
  search.absent = {"workers"};
  search.baseline = *parse_knobs({"nproc=2", "threads=3"});
  search.baseline_source = kBaselinePlain;
  search.hints = {*parse_knobs({"nproc=4"})};
  search.objective = *parse_objective("memory");
  const auto again = parse_search(search_json(search));
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(search_json(*again), search_json(search));
  EXPECT_EQ(again->axes, search.axes);
  EXPECT_EQ(again->fixed, search.fixed);
  EXPECT_EQ(again->absent, search.absent);
  EXPECT_EQ(again->baseline, search.baseline);
  EXPECT_EQ(again->hints, search.hints);
  EXPECT_EQ(again->objective.goal, Goal::memory);
  EXPECT_TRUE(again->baseline_guessed());
}

TEST(StoredJob, KnobsThatDoNotReachTheCommandStayAbsent) {
  SearchRequest search;
  search.baseline.batch = 32;
  search.baseline.absent = {"nproc", "threads"};
  const auto again = parse_search(search_json(search));
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->baseline.absent, search.baseline.absent);
  EXPECT_EQ(knobs_text(again->baseline), "batch=32");
}

TEST(SearchRequest, OnlyListsOfTheUsersHaveAFirstValue) {
  SearchRequest search;
  EXPECT_STREQ(search.first_source(), kBaselineUsual);
  search.axes["threads"] = {"2"};
  EXPECT_STREQ(search.first_source(), kBaselineUsual) << "one value is no list";
  search.axes["batch"] = {"4", "8"};
  EXPECT_STREQ(search.first_source(), kBaselineFirst);
  search.baseline_source = kBaselineUsual;
  EXPECT_TRUE(search.baseline_guessed());
}

TEST(SearchRequest, WhatNobodyListsIsOutOfReachButForThreads) {
  SearchRequest search;
  search.axes = {{"nproc", {"1"}}, {"threads", {"1"}}, {"workers", {"2"}}, {"batch", {"4", "8"}}};
  search.fixed = {"nproc"};
  search.absent = {"threads"};
  EXPECT_THAT(search.out_of_reach(), ElementsAre("nproc"));
  EXPECT_TRUE(search.lists("workers")) << "one value that somebody gave";
  EXPECT_FALSE(search.lists("nproc"));
  EXPECT_FALSE(search.lists("precision"));
}

}  // namespace
}  // namespace ocrtune
