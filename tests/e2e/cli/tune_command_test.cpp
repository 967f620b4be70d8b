// `ocrtune tune` as a user types it: a real run of the core, and the ways in which it can be
// misused.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/files.h"
#include "base/process.h"
#include "tests/support/answered.h"
#include "tests/support/ran.h"
#include "tests/support/schema_text.h"
#include "tuner/store/store.h"

namespace ocrtune {
namespace {

Ran ocrtune(const std::string& arguments) {
  const bool json = arguments.find("--json") != std::string::npos;
  return run_line(OCRTUNE_BINARY + " " + arguments + (json ? " 2>/dev/null" : " 2>&1"));
}

class TuneCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("tune_test");
    db_ = join_path(folder_, "runs.sqlite");
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }

  std::string small(const std::string& more) const {
    return "tune --db " + db_ + " --width 64 --trial-time 200ms --threads 1 --workers 0 " +
           "--binding none --precision fp32 " + more;
  }

  std::string folder_, db_;
};

TEST_F(TuneCommand, ASetupLineThatNeedsAShellIsRefused) {
  const std::string line = "tune --dry-run --db " + db_ + " --batch 1,2 --setup ";
  const Ran refused = ocrtune(line + "'rm -f out/*.txt' -- true {batch}");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.out.find("--setup is run without a shell"), std::string::npos) << refused.out;
  EXPECT_EQ(ocrtune(line + "\"sh -c 'rm -f out/*.txt'\" -- true {batch}").code, 0);
}

TEST_F(TuneCommand, MeasuresRecommendsAndReports) {
  const std::string out = join_path(folder_, "report");
  const Ran ran =
      ocrtune(small("--nproc 1,2 --batch 4,8 --budget 25s --json --out " + out + " 2>/dev/null"));
  ASSERT_TRUE(answered(ran.code, ran.out)) << ran.out;
  const auto json = nlohmann::json::parse(ran.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << ran.out;
  EXPECT_GT(json["recommendation"]["samples_per_second"]["median"].get<double>(), 0);
  EXPECT_GE(json["trials"].get<int>(), 3);
  EXPECT_GT(json["recommendation"]["peak_bytes"].get<double>(), 10e6);
  for (const char* file :
       {"report.html", "trials.csv", "summary.csv", "probe.csv", "ocrtune.env"}) {
    EXPECT_TRUE(path_exists(join_path(out, file))) << file;
  }
  // What was printed is what the store holds.
  const auto store = Store::open(db_, Store::Mode::read);
  ASSERT_TRUE(store);
  const auto kept = (*store)->load_run("last");
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->id, json["run_id"].get<std::string>());
  EXPECT_EQ(kept->trials.size(), json["trials"].get<std::size_t>());
  EXPECT_EQ(kept->state, "done");
}

TEST_F(TuneCommand, DryRunAsOneDocument) {
  const Ran ran = ocrtune(small("--nproc 1-2 --batch 4 --dry-run --json 2>/dev/null"));
  ASSERT_EQ(ran.code, 0) << ran.out;
  const auto json = nlohmann::json::parse(ran.out, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << ran.out;
  EXPECT_EQ(schema_fault("tune-dry-run", json), "");
  EXPECT_EQ(json["dry_run"], true);
  EXPECT_EQ(json["space"]["nproc"], (std::vector<std::string>{"1", "2"}));
  EXPECT_GE(json["settings"].get<int>(), 2);
  EXPECT_TRUE(json["commands"].empty()) << "the built-in engine starts itself";
  EXPECT_FALSE(path_exists(db_));
}

TEST_F(TuneCommand, DryRunMakesNoFolder) {
  const std::string out = join_path(folder_, "reports");
  EXPECT_EQ(ocrtune(small("--nproc 1 --batch 4 --dry-run --out " + out)).code, 0);
  EXPECT_FALSE(path_exists(out));
}

TEST_F(TuneCommand, ATakenNameIsRefusedBeforeAnythingRuns) {
  RunRecord run;
  run.id = "2026-11-20-0a3f9";
  run.name = "mine";
  const auto store = Store::open(db_, Store::Mode::write);
  ASSERT_TRUE(store && (*store)->begin_run(run) && (*store)->finish_run(run.id, "done", ""));
  for (const char* dry : {"", "--dry-run "}) {
    const Ran ran = ocrtune("tune --db " + db_ + " --name mine " + dry + "-- sh -c 'touch " +
                            folder_ + "/ran; sleep 60'");
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_NE(ran.out.find("mine"), std::string::npos) << ran.out;
  }
  EXPECT_FALSE(path_exists(join_path(folder_, "ran")));
}

TEST_F(TuneCommand, OneTrialOfTheEngineIsOneDocument) {
  const Ran ran = ocrtune(
      "engine worker nproc=1 threads=1 batch=2 --model crnn-mv3 --seconds 0.3 --json 2>/dev/null");
  ASSERT_EQ(ran.code, 0) << ran.out;
  EXPECT_EQ(schema_fault("worker", nlohmann::json::parse(ran.out)), "");
}

TEST_F(TuneCommand, FewSettingsShareTheBudgetOfATarget) {
  const auto trial_seconds = [&](const std::string& knobs) {
    const Ran ran =
        ocrtune("tune --db " + db_ +
                " --mode infer --model crnn-mv3 --slo p90=4s --budget 12m --dry-run --json "
                "--threads 1 --batch 1 --precision fp32 " +
                knobs + " 2>/dev/null");
    return nlohmann::json::parse(ran.out).at("first_trial_seconds").get<double>();
  };
  const double left = 720 - 8;  // the machine is measured first
  EXPECT_NEAR(trial_seconds("--binding none,compact --nproc 1,2"), left / 4, 5);
  EXPECT_NEAR(trial_seconds("--binding none --nproc 1"), left / 2, 1e-6) << "and one that proves";
  EXPECT_NEAR(trial_seconds("--binding none,compact --nproc 1"), left / 3, 1e-6);
  EXPECT_LT(trial_seconds("--binding none --nproc 1 --trial-time 30s"), left / 4);
}

TEST_F(TuneCommand, WrongUseIsOneLineAndCode2) {
  const std::string empty = join_path(folder_, "empty");
  ASSERT_TRUE(make_directories(empty));
  for (const auto& [arguments, word] :
       std::vector<std::pair<std::string, std::string>>{{"--frobnicate", "frobnicate"},
                                                        {"--nproc 0", "nproc"},
                                                        {"--nproc 5000", "from 1 to 4096"},
                                                        {"--nproc 1,,2", "an empty value"},
                                                        {"--nproc 4-1", "the range falls"},
                                                        {"--precision fp8", "fp8"},
                                                        {"--budget 1s", "--budget"},
                                                        {"--budget soon", "soon"},
                                                        {"--baseline batch=none", "batch"},
                                                        {"--dim nproc=1,2", "nproc"},
                                                        {"--dim flavour", "flavour"},
                                                        {"--constraint 'batch>>2'", "batch>>2"},
                                                        {"--memory-limit lots", "lots"},
                                                        {"--model nonesuch", "nonesuch"}}) {
    const Ran ran = ocrtune("tune --db " + db_ + " --dry-run " + arguments);
    EXPECT_EQ(ran.code, 2) << arguments << ": " << ran.out;
    EXPECT_NE(ran.out.find(word), std::string::npos) << ran.out;
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;
  }
}

TEST_F(TuneCommand, TheWorldSaysNoIsCode3) {
  const std::string empty = join_path(folder_, "empty"), missing = join_path(folder_, "missing");
  ASSERT_TRUE(make_directories(empty));
  ASSERT_TRUE(make_directories(missing));
  ASSERT_TRUE(write_file(missing + "/labels.txt", "a.png\tab\nb.png\tcd\n"));
  for (const auto& [arguments, word] : std::vector<std::pair<std::string, std::string>>{
           {"--data " + empty, "labels.txt"},
           {"--data " + missing, "a.png not found (2 of 2 missing)"},
           {"--data /nonexistent", "/nonexistent"},
           {"--out /proc/nowhere/report", "/proc/nowhere"}}) {
    const Ran ran = ocrtune(small("--nproc 1 --batch 4 --budget 10s " + arguments));
    EXPECT_EQ(ran.code, 3) << arguments << ": " << ran.out;
    EXPECT_NE(ran.out.find(word), std::string::npos) << ran.out;
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;
  }
  const Ran store = ocrtune("tune --db /proc/nowhere/x.sqlite --budget 10s");
  EXPECT_EQ(store.code, 3) << store.out;
}

// Starts a tune, ends it with `signal` once a trial is in the store, and gives its exit status.
int end_early(const std::string& program, const std::vector<std::string>& arguments,
              const std::string& db, int signal) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<char*> argv = {const_cast<char*>(program.c_str())};
    for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    if (std::freopen("/dev/null", "w", stdout) == nullptr) ::_exit(126);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  for (int i = 0; i < 600; ++i) {
    steady_clock().sleep_seconds(0.1);
    const auto store = Store::open(db, Store::Mode::read);
    if (!store) continue;
    const auto run = (*store)->load_run("last");
    if (run && !run->trials.empty()) break;
  }
  ::kill(child, signal);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST_F(TuneCommand, InterruptKeepsWhatIsDoneAndResumeGoesOn) {
  const std::vector<std::string> arguments = {
      "tune", "--db",        db_,    "--width",   "64", "--trial-time", "200ms", "--threads",
      "1",    "--nproc",     "1",    "--workers", "0",  "--binding",    "none",  "--batch",
      "4,8",  "--precision", "fp32", "--budget",  "40s"};
  const std::string program = OCRTUNE_BINARY;
  const int stopped = end_early(program, arguments, db_, SIGINT);
  ASSERT_TRUE(WIFEXITED(stopped));
  EXPECT_EQ(WEXITSTATUS(stopped), 130);
  std::size_t trials = 0;
  {
    const auto store = Store::open(db_, Store::Mode::read);
    ASSERT_TRUE(store) << store.error().what;
    const auto kept = (*store)->load_run("last");
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->state, "interrupted");
    trials = kept->trials.size();
    EXPECT_GE(trials, 1U);
  }
  const Ran ran = ocrtune("tune --db " + db_ + " --resume --budget 6s --json 2>/dev/null");
  ASSERT_TRUE(answered(ran.code, ran.out)) << ran.out;
  const auto json = nlohmann::json::parse(ran.out, nullptr, false);
  EXPECT_GT(json["trials"].get<std::size_t>(), trials);
}

TEST_F(TuneCommand, Kill9LosesNoCommittedTrialAndLeavesNoWorker) {
  const std::string mark = "74";  // a width that no other tune on this machine uses
  const std::vector<std::string> arguments = {
      "tune", "--db",        db_,    "--width",   mark, "--trial-time", "200ms", "--threads",
      "1",    "--nproc",     "2",    "--workers", "0",  "--binding",    "none",  "--batch",
      "4,8",  "--precision", "fp32", "--budget",  "40s"};
  const int killed = end_early(OCRTUNE_BINARY, arguments, db_, SIGKILL);
  ASSERT_TRUE(WIFSIGNALED(killed));
  const auto store = Store::open(db_, Store::Mode::read);
  ASSERT_TRUE(store) << store.error().what;
  EXPECT_GE((*store)->load_run("last")->trials.size(), 1U);
  std::string left = "?";
  for (int i = 0; i < 100 && !left.empty(); ++i) {
    steady_clock().sleep_seconds(0.1);
    left.clear();
    const auto processes = list_directory("/proc");
    ASSERT_TRUE(processes);
    for (const std::string& name : *processes) {
      const std::string line = read_file("/proc/" + name + "/cmdline").value_or("");
      if (line.find("\"width\":" + mark) != std::string::npos) left += name + " ";
    }
  }
  EXPECT_EQ(left, "");
}

}  // namespace
}  // namespace ocrtune
