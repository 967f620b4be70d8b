#include "tuner/store/store.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "tests/support/sample_jobs.h"
#include "trial/ipc/trial_fields.h"
#include "tuner/store/program_versions.h"

namespace ocrtune {
namespace {

Trial example_trial() {
  Trial trial;
  trial.knobs = *parse_knobs({"nproc=2", "threads=4", "batch=32", "flavour=\"mild\" & 'hot'"});
  trial.phase = "race";
  trial.why = "is it really faster?";
  trial.repetition = 1;
  trial.outcome = Outcome::ok;
  trial.evidence = {"line one", "line \xE4\xB8\xAD"};
  trial.reproduce = "ocrtune worker ...";
  trial.samples_per_second = 123.25;
  trial.peak_bytes = 5ULL << 33;
  trial.host_peak_bytes = 6ULL << 33;
  trial.possible_peak_bytes = 7ULL << 33;
  trial.gpus = {{0, 2, true, 3ULL << 33, 9ULL << 33}, {1, 0, false, 1 << 20, 9ULL << 33}};
  trial.growth = {8, 1000, 900, 1100, 5ULL << 33, true};
  trial.service = {64,
                   0.25,
                   0.5,
                   0.125,
                   true,
                   "requests_total 50/s",
                   {{0, 9, 0.1, 0.2, 0.3, 0.2, 90, 4, "kept"}}};
  trial.slow_host = {"b", "of a step, computing 5 ms", 0.25};
  trial.links_down = {"eth0"};
  trial.threads.alive = 9;
  trial.threads.runtimes = {"OpenMP"};
  trial.counters.exit_code = 137;
  trial.counters.killed_by_us = true;
  trial.round = 3;
  trial.seconds = 2.5;
  trial.network_bytes_per_second = 1.5e9;
  trial.placement = "0:0-3 1:4-7";
  trial.log_tail = "last\nlines";
  Sample sample;
  sample.samples = 120.5;
  sample.seconds = 0.25;
  sample.steps = 7;
  sample.step.wait_seconds = 0.125;
  sample.interference.external_cpus = 0.5;
  sample.interference.spoilt_by = "external CPUs 0.50";
  trial.samples = {sample, Sample{}};
  return trial;
}

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("store_test");
    path_ = join_path(folder_, "deeper/runs.sqlite");
    run_.id = "2026-11-21-abcde";
    run_.started = "2026-11-21T07:00:00Z";
    run_.command_line = "ocrtune tune --budget 2m";
    run_.versions = {{"ocrtune", "0.1.0"}};
    run_.search.axes = {{"nproc", {"1", "2"}}};
    run_.search.baseline = *parse_knobs({"threads=2"});
    run_.job = command_job({"python", "train.py", "{batch}"});
    run_.machine.fingerprint = "f00d";
    run_.machine.host = "box";
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }

  std::unique_ptr<Store> open(Store::Mode mode = Store::Mode::write) {
    auto store = Store::open(path_, mode);
    EXPECT_TRUE(store) << store.error().what;
    return store ? std::move(*store) : nullptr;
  }

  std::string folder_, path_;
  RunRecord run_;
};

TEST_F(StoreTest, KeepsEveryFieldOfARun) {
  {
    auto store = open();
    ASSERT_TRUE(store->begin_run(run_));
    Trial trial = example_trial();
    ASSERT_TRUE(store->add_trial(run_.id, trial));
    EXPECT_GT(trial.id, 0);
    ASSERT_TRUE(store->add_event(run_.id, "paused"));
    ASSERT_TRUE(store->finish_run(run_.id, "done", "budget"));
  }
  auto store = open(Store::Mode::read);
  const auto loaded = store->load_run("last");
  ASSERT_TRUE(loaded) << loaded.error().what;
  EXPECT_EQ(loaded->id, run_.id);
  EXPECT_EQ(loaded->state, "done");
  EXPECT_EQ(loaded->stop_reason, "budget");
  EXPECT_EQ(loaded->versions, run_.versions);
  EXPECT_EQ(loaded->search.axes, run_.search.axes);
  EXPECT_EQ(loaded->search.baseline, run_.search.baseline);
  EXPECT_EQ(loaded->job.command(), run_.job.command());
  EXPECT_EQ(loaded->machine.fingerprint, "f00d");
  ASSERT_EQ(loaded->trials.size(), 1U);
  const Trial& trial = loaded->trials[0];
  const Trial expected = example_trial();
  EXPECT_EQ(trial.knobs, expected.knobs);
  EXPECT_EQ(trial.evidence, expected.evidence);
  EXPECT_EQ(trial.peak_bytes, expected.peak_bytes);
  EXPECT_EQ(trial.log_tail, expected.log_tail);
  EXPECT_EQ(trial.network_bytes_per_second, 1.5e9);
  // Whatever the list of fields holds comes back.
  EXPECT_EQ(fields_json(kObservedFields, trial), fields_json(kObservedFields, expected));
  EXPECT_EQ(fields_json(kSearchFields, trial), fields_json(kSearchFields, expected));
  EXPECT_EQ(evidence_json(trial.counters), evidence_json(expected.counters));
  ASSERT_EQ(trial.samples.size(), 2U);
  EXPECT_EQ(trial.samples[0].interference.spoilt_by, "external CPUs 0.50");
  EXPECT_DOUBLE_EQ(trial.samples[0].samples_per_second(), 482);
  EXPECT_EQ(trial.samples[0].steps, 7);
  EXPECT_DOUBLE_EQ(trial.samples[0].step.wait_seconds, 0.125);
  EXPECT_EQ(store->events(run_.id)->at(0).text, "paused");
  EXPECT_EQ(store->list_runs()->at(0).trials, 1);
}

TEST_F(StoreTest, AVerdictIsListedToTheVersionThatGaveItUntilTheRunGoesOn) {
  auto store = open();
  RunRecord ours = run_;
  ours.id = "2026-11-23-ccccc";
  ours.versions = {program_versions().begin(), program_versions().end()};
  for (const RunRecord& run : {run_, ours}) {
    ASSERT_TRUE(store->begin_run(run));
    ASSERT_TRUE(store->finish_run(run.id, "done", "budget", "safe"));
  }
  std::map<std::string, std::string> verdicts;
  const auto listings = store->list_runs();
  ASSERT_TRUE(listings);
  for (const RunListing& run : *listings) verdicts[run.id] = run.verdict;
  EXPECT_EQ(verdicts[run_.id], "") << "of another version";
  EXPECT_EQ(verdicts[ours.id], "safe");
  ASSERT_TRUE(store->take_run(ours.id, ours.search));
  EXPECT_EQ(store->list_runs()->at(0).verdict, "");
  EXPECT_EQ(store->list_runs()->at(1).verdict, "");
}

TEST_F(StoreTest, CommittedTrialsSurviveKill9) {
  ASSERT_TRUE(open()->begin_run(run_));
  const pid_t child = fork();
  if (child == 0) {
    auto store = Store::open(path_, Store::Mode::write);
    for (int i = 0; i < 3; ++i) {
      Trial trial = example_trial();
      if (!(*store)->add_trial(run_.id, trial)) _exit(1);
    }
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto loaded = open()->load_run(run_.id);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->trials.size(), 3U);
  EXPECT_EQ(loaded->state, "running");  // by this process, which is still there
}

// What is in the folder beside the store.
std::vector<std::string> beside(const std::string& path) {
  return list_directory(parent_path(path)).value_or({});
}

TEST_F(StoreTest, RunOfADeadProcessHasDiedAndMayBeTaken) {
  const pid_t child = fork();
  if (child == 0) {
    auto store = Store::open(path_, Store::Mode::write);
    const bool begun = store && (*store)->begin_run(run_);
    kill(getpid(), begun ? SIGKILL : SIGTERM);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_EQ(open(Store::Mode::read)->load_run(run_.id)->state, "died");
  EXPECT_EQ(open(Store::Mode::read)->list_runs()->at(0).state, "died");
  auto store = open();
  SearchRequest search = run_.search;
  search.memory_limit_bytes = 12345;  // less than there was
  ASSERT_TRUE(store->take_run(run_.id, search));
  EXPECT_EQ(store->load_run(run_.id)->state, "running");
  EXPECT_EQ(store->load_run(run_.id)->search.memory_limit_bytes, 12345U);
  ASSERT_TRUE(store->finish_run(run_.id, "done", "budget"));
  EXPECT_EQ(store->load_run(run_.id)->state, "done");
}

TEST_F(StoreTest, RunOfALivingProcessIsNotTaken) {
  auto store = open();
  ASSERT_TRUE(store->begin_run(run_));
  const Status taken = store->take_run(run_.id, run_.search);
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().what.find("process " + std::to_string(getpid())), std::string::npos);
  EXPECT_EQ(store->load_run(run_.id)->state, "running");
}

TEST_F(StoreTest, FirstStartsAtOnceAllSucceed) {
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(fork());
    if (children.back() == 0) {
      close(go[1]);
      char byte = 0;
      const ssize_t got = read(go[0], &byte, 1);  // until all are there
      run_.id += std::to_string(i);
      auto store = Store::open(path_, Store::Mode::write);
      _exit(got == 0 && store && (*store)->begin_run(run_) ? 0 : 1);
    }
  }
  close(go[0]);
  close(go[1]);
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(open(Store::Mode::read)->list_runs()->size(), 8U);
}

TEST_F(StoreTest, IsForItsOwnerAloneAndLeavesNothingBeside) {
  ASSERT_TRUE(open()->begin_run(run_));
  EXPECT_TRUE(open(Store::Mode::read)->load_run("last"));
  struct stat facts {};
  ASSERT_EQ(stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  EXPECT_EQ(beside(path_), std::vector<std::string>{"runs.sqlite"});
}

void execute(const std::string& path, const char* sql) {
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(raw, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(raw);
  sqlite3_close(raw);
}

// Reads as a user who may not write there, which root can always do.
int read_as_nobody(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(77);
    const auto store = Store::open(path, Store::Mode::read);
    const auto run = store ? (*store)->load_run("last") : Result<RunRecord>(store.error());
    if (!run) fprintf(stderr, "%s\n", run.error().what.c_str());
    _exit(run ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(StoreTest, IsReadByWhoMayOnlyRead) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ASSERT_TRUE(open()->begin_run(run_));
  ASSERT_EQ(chmod(path_.c_str(), 0644), 0);
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  EXPECT_EQ(read_as_nobody(path_), 0);
  EXPECT_EQ(beside(path_), std::vector<std::string>{"runs.sqlite"});
}

TEST_F(StoreTest, FindsRunsByTheirBeginning) {
  auto store = open();
  ASSERT_TRUE(store->begin_run(run_));
  run_.id = "2026-11-21-abfff";
  ASSERT_TRUE(store->begin_run(run_));
  EXPECT_EQ(store->load_run("2026-11-21-abc")->id, "2026-11-21-abcde");
  EXPECT_EQ(store->load_run("2026-11-21-ab").error().kind, ErrorKind::usage);
  EXPECT_NE(store->load_run("2026-11-21-ab").error().what.find("several"), std::string::npos);
  EXPECT_NE(store->load_run("1999").error().what.find("1999"), std::string::npos);
  EXPECT_EQ(store->load_run("last")->id, "2026-11-21-abfff");
}

TEST_F(StoreTest, RunsAreFoundByTheirNames) {
  auto store = open();
  run_.name = "first";
  ASSERT_TRUE(store->begin_run(run_));
  RunRecord other = run_;
  other.id = "2026-11-22-fffff";
  other.name = "";
  ASSERT_TRUE(store->begin_run(other));
  EXPECT_EQ(store->load_run("first")->id, run_.id);
  EXPECT_EQ(store->load_run(run_.id)->name, "first");
  EXPECT_EQ(store->list_runs()->at(0).name, "");
  EXPECT_EQ(store->list_runs()->at(1).name, "first");
  EXPECT_EQ(store->load_run("fir").error().kind, ErrorKind::missing);
  EXPECT_TRUE(store->check_name_free("second"));
  EXPECT_EQ(store->check_name_free("first").error().kind, ErrorKind::usage);
  other.id = "2026-11-23-fffff";
  other.name = "first";
  EXPECT_EQ(store->begin_run(other).error().kind, ErrorKind::usage);
  EXPECT_EQ(store->list_runs()->size(), 2U);
}

TEST_F(StoreTest, RemovedRunLeavesNothingAndOthersAlone) {
  auto store = open();
  run_.name = "first";
  ASSERT_TRUE(store->begin_run(run_));
  Trial trial = example_trial();
  ASSERT_TRUE(store->add_trial(run_.id, trial));
  ASSERT_TRUE(store->add_event(run_.id, "x"));
  EXPECT_EQ(store->remove_run(run_.id).error().kind, ErrorKind::usage) << "we measure it";
  EXPECT_EQ(store->list_runs()->at(0).trials, 1);
  ASSERT_TRUE(store->finish_run(run_.id, "done", "budget"));
  RunRecord other = run_;
  other.id = "2026-11-22-fffff";
  other.name = "other";
  ASSERT_TRUE(store->begin_run(other));
  ASSERT_TRUE(store->add_trial(other.id, trial));
  ASSERT_TRUE(store->remove_run(run_.id));
  EXPECT_EQ(store->load_run("first").error().kind, ErrorKind::missing);
  EXPECT_TRUE(store->events(run_.id)->empty());
  EXPECT_EQ(store->load_run("other")->trials.at(0).samples.size(), 2U);
  EXPECT_TRUE(store->check_name_free("first"));
}

TEST_F(StoreTest, RefusesWhatIsNotItsOwn) {
  EXPECT_EQ(Store::open(path_, Store::Mode::read).error().kind, ErrorKind::missing);
  ASSERT_TRUE(make_directories(parent_path(path_)));
  ASSERT_TRUE(write_file(path_, std::string(4096, 'x')));
  EXPECT_EQ(Store::open(path_, Store::Mode::write).error().kind, ErrorKind::invalid);
  EXPECT_EQ(*read_file(path_), std::string(4096, 'x'));

  ::unlink(path_.c_str());
  sqlite3* other = nullptr;
  sqlite3_open(path_.c_str(), &other);
  sqlite3_exec(other, "CREATE TABLE recipes (name TEXT)", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  const std::string before = *read_file(path_);
  EXPECT_NE(Store::open(path_, Store::Mode::write).error().what.find("another program"),
            std::string::npos);
  EXPECT_EQ(*read_file(path_), before);
  EXPECT_EQ(beside(path_), std::vector<std::string>{"runs.sqlite"});

  const auto folder = Store::open(folder_, Store::Mode::read);
  EXPECT_EQ(folder.error().kind, ErrorKind::usage);
  EXPECT_NE(folder.error().what.find("runs.sqlite"), std::string::npos);
}

TEST_F(StoreTest, RefusesOtherVersionsAndLeavesThemAlone) {
  ASSERT_TRUE(open()->begin_run(run_));
  for (const auto& [version, whose] : {std::pair(99, "the newer"), std::pair(1, "the older")}) {
    execute(path_, ("PRAGMA user_version=" + std::to_string(version)).c_str());
    const std::string before = *read_file(path_);
    for (const Store::Mode mode : {Store::Mode::read, Store::Mode::write}) {
      const auto store = Store::open(path_, mode);
      ASSERT_FALSE(store);
      EXPECT_EQ(store.error().kind, ErrorKind::invalid);
      EXPECT_THAT(
          store.error().what,
          testing::HasSubstr("is of version " + std::to_string(version) +
                             ", this ocrtune reads version 11; use " + whose + " ocrtune for it"));
      EXPECT_EQ(store.error().what.find('\n'), std::string::npos);
    }
    EXPECT_EQ(*read_file(path_), before);
  }
}

TEST_F(StoreTest, ADamagedRowLosesNothingElse) {
  auto store = open();
  ASSERT_TRUE(store->begin_run(run_));
  Trial trial = example_trial();
  ASSERT_TRUE(store->add_trial(run_.id, trial));
  ASSERT_TRUE(store->add_trial(run_.id, trial));
  execute(path_, "UPDATE trial SET knobs='{', evidence='[1', gpus='{}', counters='x' WHERE id=1");
  const auto loaded = store->load_run(run_.id);
  ASSERT_TRUE(loaded) << loaded.error().what;
  ASSERT_EQ(loaded->trials.size(), 2U);
  EXPECT_TRUE(loaded->trials[0].evidence.empty());
  EXPECT_FALSE(loaded->trials[0].reason.empty()) << "says what is damaged";
  EXPECT_EQ(loaded->trials[1].evidence, example_trial().evidence);
}

TEST_F(StoreTest, MistypedFolderIsNotMade) {
  const auto store = Store::open(join_path(folder_, "no/such/runs.sqlite"), Store::Mode::write);
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().what.find("mkdir -p"), std::string::npos);
  EXPECT_FALSE(path_exists(join_path(folder_, "no")));
}

TEST_F(StoreTest, UnwritablePlaceIsOneClearLine) {
  const auto store = Store::open("/proc/nowhere/runs.sqlite", Store::Mode::write);
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().what.find("/proc/nowhere"), std::string::npos);
  EXPECT_NE(store.error().what.find("No such file or directory"), std::string::npos);
  EXPECT_EQ(store.error().what.find('\n'), std::string::npos);
  const auto denied = Store::open("/sys/nowhere/runs.sqlite", Store::Mode::write);
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().kind, ErrorKind::denied) << denied.error().what;
  EXPECT_NE(denied.error().what.find("name a store elsewhere with --db"), std::string::npos);
}

TEST(RunRecordTest, NamesAreWordsThatNoIdCanBe) {
  for (const char* good : {"a", "rec-v2", "A.b_c9"}) EXPECT_TRUE(check_run_name(good)) << good;
  for (const char* bad : {"", "last", "2026-11", "-a", "a b", "a/b", "a\n"}) {
    EXPECT_EQ(check_run_name(bad).error().kind, ErrorKind::usage) << bad;
  }
  EXPECT_NE(
      check_run_name(std::string(65, 'a')).error().what.find("65 characters, and 64 are the most"),
      std::string::npos);
}

TEST(RunRecordTest, IdsDiffer) { EXPECT_NE(new_run_id(), new_run_id()); }

}  // namespace
}  // namespace ocrtune
