// ocrtune init and the settings file that it writes, as a newcomer uses them.
#include <unistd.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/files.h"
#include "base/process.h"
#include "tests/support/ran.h"
#include "tests/support/schema_text.h"
#include "tuner/store/store.h"

namespace ocrtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class InitCommand : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("init_command"); }
  void TearDown() override { ASSERT_TRUE(remove_tree(folder_)); }

  int run(const std::vector<std::string>& arguments) {
    ProcessOptions options;
    options.arguments = {OCRTUNE_BINARY};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    options.directory = folder_;
    Process process = std::move(Process::start(options)).value();
    const auto& exit = process.wait(200);
    output_ = process.output().contents();
    return exit ? exit->code : -1;
  }

  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(write_file(join_path(folder_, name), text));
  }

  std::string folder_, output_;
};

TEST_F(InitCommand, EmptyFolderGetsNoFileAndIsToldWhatToDo) {
  EXPECT_EQ(run({"init"}), 1);
  EXPECT_THAT(output_, HasSubstr("Nothing to tune in "));
  EXPECT_THAT(output_, HasSubstr("ocrtune engine make-data lines && ocrtune init"));
  EXPECT_FALSE(path_exists(join_path(folder_, "ocrtune.toml")));
  EXPECT_EQ(run({"tune", "--dry-run"}), 0) << output_;
  EXPECT_THAT(output_, HasSubstr("no command, no --data and no ocrtune.toml"));
}

TEST_F(InitCommand, SpeaksTheLanguageOfTheTerminal) {
  write("train.py", "import torch\noptimizer.step()\n");
  const std::string chinese = "cd " + folder_ + " && LC_ALL=zh_CN.UTF-8 " + OCRTUNE_BINARY;
  const std::string found = run_line(chinese + " init").out;
  EXPECT_THAT(found, AllOf(HasSubstr("train.py：训练"), HasSubstr("已写出 ocrtune.toml")));
  const std::string checked = run_line(chinese + " doctor -- no-such-program").out;
  EXPECT_THAT(checked, AllOf(HasSubstr("失败"), HasSubstr("PATH 中没有 'no-such-program'")));
}

TEST_F(InitCommand, TuneRunsWhatInitHasWritten) {
  ASSERT_EQ(run({"make-data", "lines", "--count", "20"}), 0) << output_;
  ASSERT_EQ(run({"init"}), 0) << output_;
  EXPECT_THAT(output_, HasSubstr("labelled lines: lines"));
  EXPECT_EQ(run({"tune", "--dry-run"}), 0) << output_;
  EXPECT_THAT(output_, HasSubstr("settings from ocrtune.toml"));
  EXPECT_THAT(output_, HasSubstr("the budget of 5 min"));
  EXPECT_EQ(run({"tune", "--dry-run", "--budget", "7m"}), 0) << output_;
  EXPECT_THAT(output_, HasSubstr("the budget of 7 min"));
}

TEST_F(InitCommand, OverwritesOnlyWhenTold) {
  write("labels.txt", "a.png\tab\n");
  write("ocrtune.toml", "budget = \"1m\"\n");
  EXPECT_EQ(run({"init"}), 2);
  EXPECT_THAT(output_, HasSubstr("ocrtune.toml is there already; --force writes it anew"));
  EXPECT_EQ(run({"init", "--force"}), 0) << output_;
  EXPECT_THAT(*read_file(join_path(folder_, "ocrtune.toml")), HasSubstr("data = \".\""));
}

TEST_F(InitCommand, DoesNotWriteThroughALinkThatLeadsNowhere) {
  write("labels.txt", "a.png\tab\n");
  const std::string target = join_path(folder_, "elsewhere.toml");
  ASSERT_EQ(::symlink(target.c_str(), join_path(folder_, "ocrtune.toml").c_str()), 0);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"init"}, {"init", "--force"}}) {
    EXPECT_EQ(run(words), 2);
    EXPECT_THAT(output_, HasSubstr("ocrtune.toml is a link"));
  }
  EXPECT_FALSE(path_exists(target));
}

TEST_F(InitCommand, MistakesInTheFileNameItAndTheKey) {
  write("ocrtune.toml", "# mine\nbudget = \"soon\"\ndata = \".\"\n");
  EXPECT_EQ(run({"tune"}), 2);
  EXPECT_THAT(output_, AllOf(HasSubstr("settings from ocrtune.toml"), HasSubstr("--budget: ")));
  write("ocrtune.toml", "seed = \"soon\"\n");
  EXPECT_EQ(run({"tune"}), 2);
  EXPECT_THAT(output_, HasSubstr("ocrtune.toml:1: seed: "));
  write("ocrtune.toml", "buget = \"1m\"\n");
  EXPECT_EQ(run({"tune"}), 2);
  EXPECT_THAT(output_, AllOf(HasSubstr("ocrtune.toml:1: buget: "), HasSubstr(" budget?")));
  EXPECT_EQ(run({"tune", "--dry-run", "--model", "crnn"}), 0) << output_;
  EXPECT_THAT(output_, Not(HasSubstr("settings from")));
}

TEST_F(InitCommand, OneTuneWithTheFileAlone) {
  write("client.sh",
        "while :; do echo \"step 1 speed: $(($1 * 100)) lines/s\"; sleep 0.02; done\n");
  write("ocrtune.toml",
        "command = [\"sh\", \"client.sh\", \"{batch}\"]\nbatch = [1, 4]\nmetric = "
        "\"speed:lines/s\"\nbudget = \"6s\"\ntrial-time = \"200ms\"\ndb = \"runs.sqlite\"\n");
  const int code = run({"tune"});
  EXPECT_TRUE(code == 0 || code == 1) << output_;
  EXPECT_EQ(run({"list", "runs", "--db", "runs.sqlite", "--json"}), 0) << output_;
  EXPECT_THAT(output_, HasSubstr("--metric speed:lines/s"));
  EXPECT_THAT(output_, HasSubstr("-- sh client.sh {batch}"));
}

TEST_F(InitCommand, RunsAreNamedListedIndexedAndRemoved) {
  const std::vector<std::string> tune = {"tune", "--db",         "runs.sqlite",   "--budget",
                                         "3s",   "--trial-time", "200ms",         "--batch",
                                         "1,4",  "--metric",     "speed:lines/s", "--name"};
  const auto named = [&](const std::string& name) {
    std::vector<std::string> words = tune;
    for (const char* word : {"--", "sh", "client.sh", "{batch}"}) words.emplace_back(word);
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(tune.size()), name);
    return run(words);
  };
  write("client.sh",
        "while :; do echo \"step 1 speed: $(($1 * 100)) lines/s\"; sleep 0.02; done\n");
  EXPECT_EQ(named("2026"), 2) << output_;
  EXPECT_LE(named("first"), 1) << output_;
  EXPECT_EQ(named("first"), 2);
  EXPECT_THAT(output_, HasSubstr("is called so; take another name"));
  EXPECT_LE(run({"show", "first", "--db", "runs.sqlite"}), 1) << output_;
  EXPECT_EQ(run({"export", "first", "--format", "sbatch", "--db", "runs.sqlite"}), 0) << output_;
  EXPECT_THAT(output_, HasSubstr("exec sh client.sh "));
  EXPECT_EQ(run({"export", "first", "--format", "sbtch", "--db", "runs.sqlite"}), 2);
  EXPECT_THAT(output_, HasSubstr("did you mean sbatch?"));
  ASSERT_EQ(run({"list", "runs", "--db", "runs.sqlite", "--json"}), 0);
  EXPECT_THAT(output_, HasSubstr("\"name\": \"first\""));
  EXPECT_THAT(output_, HasSubstr("\"verdict\": "));
  EXPECT_EQ(run({"report", "--all", "--html", "all/index.html", "--db", "runs.sqlite"}), 0)
      << output_;
  EXPECT_THAT(*read_file(join_path(folder_, "all/index.html")), HasSubstr(">first</a>"));
  EXPECT_EQ(list_directory(join_path(folder_, "all"))->size(), 2U);
  EXPECT_EQ(run({"rm", "first", "second", "--db", "runs.sqlite"}), 3);
  EXPECT_EQ(run({"rm", "first", "--db", "runs.sqlite"}), 0) << output_;
  EXPECT_THAT(output_, HasSubstr("removed 2"));
  EXPECT_EQ(run({"show", "first", "--db", "runs.sqlite"}), 3);
  EXPECT_EQ(run({"rm", "first", "--db", "none.sqlite"}), 3);
  EXPECT_FALSE(path_exists(join_path(folder_, "none.sqlite")));
}

TEST_F(InitCommand, WhatFailedTrialsLeftGoesWithTheirRun) {
  write("client.sh",
        "[ $1 = 1 ] || { echo x > $2/log; exit 3; }\n"
        "while :; do echo \"step 1 speed: 100 lines/s\"; sleep 0.02; done\n");
  EXPECT_LE(run({"tune", "--db", "runs.sqlite", "--budget", "4s", "--trial-time", "200ms",
                 "--batch", "1,4", "--metric", "speed:lines/s", "--name", "first", "--", "sh",
                 "client.sh", "{batch}", "{trial_dir}"}),
            1)
      << output_;
  const auto store = Store::open(join_path(folder_, "runs.sqlite"), Store::Mode::read);
  ASSERT_TRUE(store.ok());
  const auto id = (*store)->full_id("first");
  ASSERT_TRUE(id.ok());
  const auto folders = (*store)->kept_folders(*id).value_or({});
  ASSERT_FALSE(folders.empty()) << output_;
  EXPECT_TRUE(path_exists(folders.back()));
  EXPECT_EQ(run({"rm", "first", "--db", "runs.sqlite"}), 0) << output_;
  for (const std::string& folder : folders) EXPECT_FALSE(path_exists(folder)) << folder;
}

// The same checks as tune's, and one step.
TEST_F(InitCommand, DoctorTriesOneStepOfTheFile) {
  write("client.sh", "while :; do echo \"step 1 speed: 100 lines/s\"; sleep 0.02; done\n");
  write("ocrtune.toml",
        "command = [\"sh\", \"client.sh\", \"{batch}\"]\nmetric = \"speed:lines/s\"\n");
  EXPECT_EQ(run({"doctor"}), 0) << output_;
  EXPECT_THAT(output_, HasSubstr("\nok       step     batch="));
  EXPECT_THAT(output_, HasSubstr("Ready: ocrtune tune"));
  EXPECT_EQ(run({"doctor", "--json"}), 0) << output_;
  const auto json = nlohmann::json::parse(output_.substr(output_.find('{')), nullptr, false);
  ASSERT_TRUE(json.is_object()) << output_;
  EXPECT_TRUE(json["ready"]);
  EXPECT_EQ(schema_fault("doctor", json), "");
}

TEST_F(InitCommand, DoctorSaysWhatFailsAndShowsTheCommandsLastWords) {
  EXPECT_EQ(run({"doctor", "--metric", "speed:lines/s", "--", "sh", "-c",
                 "echo the disk burns; exit 3", "{batch}"}),
            1);
  EXPECT_THAT(output_, HasSubstr("fails    step     batch="));
  EXPECT_THAT(output_, HasSubstr("the disk burns"));
  EXPECT_EQ(
      run({"doctor", "--metric", "speed:lines/s", "--", "sh", "-c",
           "echo ImportError: libgomp.so.1: cannot open shared object file; exit 1", "{batch}"}),
      1);
  EXPECT_THAT(output_, HasSubstr("What may help: apt-get install libgomp1"));
  EXPECT_EQ(run({"doctor", "--", "no-such-program-here", "{batch}"}), 1);
  EXPECT_THAT(output_, HasSubstr("fails    command  "));
  EXPECT_EQ(run({"doctor", "--data", "nowhere"}), 1);
  EXPECT_THAT(output_, HasSubstr("fails    data     "));
  EXPECT_EQ(run({"doctor", "--budget", "never"}), 2);
}

// However early or late the signal comes.
TEST_F(InitCommand, AnInterruptedDoctorIsNoVerdict) {
  ProcessOptions options;
  options.arguments = {OCRTUNE_BINARY, "doctor", "--trial-time", "60s"};
  options.directory = folder_;
  Process process = std::move(Process::start(options)).value();
  while (!process.poll_exit() &&
         process.output().contents().find("ok       command") == std::string::npos) {
    (void)process.read_output({});
    steady_clock().sleep_seconds(0.02);
  }
  process.signal(SIGINT);
  const auto& exit = process.wait(200);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 130);
  EXPECT_THAT(process.output().contents(), Not(HasSubstr("Not ready")));
}

}  // namespace
}  // namespace ocrtune
