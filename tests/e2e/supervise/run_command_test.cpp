// ocrtune run as a user types it: it ends well, gives up, restarts, binds, is interrupted, refuses.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/cpu_set.h"
#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "tests/support/schema_text.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RunCommand : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("run_command"); }
  void TearDown() override { ASSERT_TRUE(remove_tree(folder_)); }

  Process start(const std::vector<std::string>& flags, const std::string& script) const {
    ProcessOptions options;
    options.arguments = {OCRTUNE_BINARY, "run", "--run-dir", folder_ + "/run", "--pause", "0.01s"};
    options.arguments.insert(options.arguments.end(), flags.begin(), flags.end());
    if (!script.empty()) {
      options.arguments.insert(options.arguments.end(), {"--", "sh", "-c", script});
    }
    return std::move(Process::start(options)).value();
  }
  // Exit code; the words are in output_.
  int run(const std::vector<std::string>& flags, const std::string& script) {
    Process process = start(flags, script);
    const auto& exit = process.wait(60);
    output_ = process.output().contents();
    return exit && exit->signal == 0 ? exit->code : -1;
  }
  std::string kept(const std::string& name) const {
    return read_file(join_path(folder_ + "/run", name)).value_or("");
  }

  std::string folder_, output_;
};

TEST_F(RunCommand, AGoodEndIsKeptInJournalAndPage) {
  EXPECT_EQ(run({}, "echo global_step: 1, loss: 0.5"), 0) << output_;
  EXPECT_THAT(kept("journal.jsonl"), HasSubstr("\"event\":\"done\""));
  EXPECT_THAT(kept("attempt-1.log"), HasSubstr("loss: 0.5"));
  EXPECT_THAT(kept("report.html"), HasSubstr("The run ended well."));
}

TEST_F(RunCommand, LeavesItsNumbersForPrometheus) {
  const std::string file = folder_ + "/ocr.prom", mark = folder_ + "/mark";
  EXPECT_EQ(run({"--prometheus", file}, "echo global_step: 1, loss: 0.5; sleep 0.5; cat " + file +
                                            "; [ -e " + mark + " ] && exit 0; touch " + mark +
                                            "; echo 'OSError: [Errno 24] Too many open files'; "
                                            "exit 1"),
            0)
      << output_;
  EXPECT_THAT(output_, HasSubstr("ocrtune_run_up{run=\"" + folder_ + "/run\"} 1\n"));
  const std::string text = read_file(file).value_or("");
  EXPECT_THAT(text, HasSubstr("ocrtune_run_restarts_total{run=\"" + folder_ + "/run\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("/run\"} 0\n# HELP ocrtune_run_restarts_total"));
  EXPECT_EQ(list_directory(folder_)->size(), 3U) << "only whole files";
  // A run does not end for want of its metrics.
  EXPECT_EQ(run({"--prometheus", folder_ + "/no/such/ocr.prom"}, "true"), 0) << output_;
  EXPECT_THAT(output_, HasSubstr("ocrtune run: note: create "));
}

TEST_F(RunCommand, RestartsFromTheCheckpointWithASaferSetting) {
  const std::string state = folder_ + "/state";
  const std::string script = "echo \"workers $2 resume $4\"; [ -e " + state +
                             " ] && exit 0; touch " + state +
                             "; echo 'OSError: [Errno 24] Too many open files'; exit 1";
  ProcessOptions options;
  options.arguments = {OCRTUNE_BINARY,
                       "run",
                       "--run-dir",
                       folder_ + "/run",
                       "--pause",
                       "0.01s",
                       "--checkpoint",
                       state,
                       "--resume-arg",
                       "--resume {checkpoint}",
                       "--json",
                       "--",
                       "sh",
                       "-c",
                       script,
                       "train",
                       "--num_workers",
                       "8"};
  Process process = std::move(Process::start(options)).value();
  const auto& exit = process.wait(60);
  ASSERT_TRUE(exit);
  const std::string said = process.output().contents();
  EXPECT_EQ(exit->code, 0) << said;
  const std::size_t start = said.find("\n{\n");
  ASSERT_NE(start, std::string::npos) << said;
  const auto json = nlohmann::json::parse(said.substr(start), nullptr, false);
  ASSERT_TRUE(json.is_object()) << said;
  EXPECT_EQ(schema_fault("run", json), "");
  EXPECT_EQ(undocumented_key("run --json", json["attempts"][0]), "");
  EXPECT_THAT(kept("attempt-1.log"), HasSubstr("workers 8 resume \n"));
  EXPECT_THAT(kept("attempt-2.log"), HasSubstr("workers 4 resume " + state));
  EXPECT_THAT(kept("journal.jsonl"), HasSubstr("loader workers 8 -> 4"));
}

TEST_F(RunCommand, GivesUpWithTheCauseAndItsFix) {
  EXPECT_EQ(run({}, "echo \"ModuleNotFoundError: No module named 'lmdb'\" >&2; exit 1"), 1);
  EXPECT_THAT(output_, HasSubstr("missing_module"));
  EXPECT_THAT(output_, HasSubstr("Gave up"));
  EXPECT_THAT(kept("report.html"), HasSubstr("missing_module"));
}

TEST_F(RunCommand, ALogOfAnEarlierRunIsNotDiagnosedAgain) {
  EXPECT_EQ(run({}, "echo \"ModuleNotFoundError: No module named 'lmdb'\"; exit 1"), 1);
  EXPECT_EQ(run({"--tries", "2"}, "exit 7"), 1);
  EXPECT_THAT(output_, HasSubstr("2. exit code 7"));
  EXPECT_THAT(output_, Not(HasSubstr("missing_module")));
}

TEST_F(RunCommand, AStallIsDiagnosedAndTriedAgain) {
  const std::string script =
      "for i in 1 2 3 4 5 6 7 8; do echo \"global_step: $i, loss: 0.5\"; sleep 0.02; done; "
      "[ -e " +
      folder_ + "/second ] && exit 0; touch " + folder_ + "/second; sleep 100";
  EXPECT_EQ(run({"--stall", "1s"}, script), 0) << output_;
  EXPECT_THAT(kept("journal.jsonl"), HasSubstr("\"cause\":\"stalled\""));
  EXPECT_THAT(kept("journal.jsonl"), HasSubstr("no step for"));
}

TEST_F(RunCommand, BindsTheRanks) {
  const CpuSet allowed = current_affinity();
  if (allowed.count() < 2) GTEST_SKIP() << "one CPU only: nothing to bind";
  const std::string look = "grep Cpus_allowed_list /proc/self/status; sleep 1.5";
  const std::string launcher =
      "(LOCAL_RANK=0 sh -c '" + look + "' & LOCAL_RANK=1 sh -c 'sleep 0.6; " + look + "' & wait)";
  EXPECT_EQ(run({"--binding", "compact", "--set", "nproc=2", "--set", "threads=1"}, launcher), 0)
      << output_;
  const std::string second = std::to_string(allowed.cpus()[1]);
  EXPECT_THAT(kept("attempt-1.log"), HasSubstr("Cpus_allowed_list:\t" + second + "\n"));
  EXPECT_THAT(kept("journal.jsonl"), HasSubstr("1:" + second));
}

TEST_F(RunCommand, AnInterruptEndsTheCommandToo) {
  Process process = start({}, "echo started; sleep 100 & echo $! > " + folder_ + "/pid; wait");
  for (int i = 0; i < 400 && !path_exists(folder_ + "/pid"); ++i) process.wait(0.02);
  process.signal(SIGTERM);
  const auto& exit = process.wait(30);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 130);
  EXPECT_FALSE(path_exists("/proc/" + std::string(trim(*read_file(folder_ + "/pid")))));
  EXPECT_THAT(kept("journal.jsonl"), HasSubstr("interrupted"));
}

// The command ends at once, its child saves for longer than a second.
TEST_F(RunCommand, AChildThatSavesHasTheWholeGrace) {
  const std::string save = folder_ + "/save", saved = folder_ + "/saved";
  ASSERT_TRUE(write_file(
      save, "trap '' TERM; echo > " + folder_ + "/pid; sleep 2; sleep 1; echo > " + saved + "\n"));
  Process process = start({"--grace", "30s"}, "sh " + save + " & wait");
  for (int i = 0; i < 400 && !path_exists(folder_ + "/pid"); ++i) process.wait(0.02);
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(60).value_or(ProcessExit{}).code, 130);
  EXPECT_TRUE(path_exists(saved));
  std::remove(saved.c_str());
  std::remove((folder_ + "/pid").c_str());
  EXPECT_EQ(run({"--grace", "30s"},
                "sh " + save + " & while [ ! -e " + folder_ + "/pid ]; do sleep 0.01; done"),
            0)
      << output_;
  EXPECT_TRUE(path_exists(saved)) << "it outlived the command";
  EXPECT_THAT(kept("journal.jsonl"), HasSubstr("\"event\":\"left over\""));
  EXPECT_THAT(output_, HasSubstr("attempt 1 left "));
}

TEST_F(RunCommand, AStateInSharedMemoryOutlivesAFailure) {
  const std::string state = "/dev/shm/ocrtune-test-state-" + std::to_string(::getpid());
  const std::string script = "[ -e " + state + " ] && exit 0; exec 9>" + state +
                             "; echo weights >&9; sleep 1.5; kill -KILL $$";
  EXPECT_EQ(run({"--checkpoint", state, "--tries", "2"}, script), 0) << output_;
  EXPECT_THAT(kept("journal.jsonl"), Not(HasSubstr("from /dev/shm")));
  std::remove(state.c_str());
}

// The program is away for some time, as while it is built anew.
TEST_F(RunCommand, AProgramThatIsAwayAtARestartIsTriedAgain) {
  const std::string program = folder_ + "/train";
  ASSERT_TRUE(
      write_file(program, "#!/bin/sh\nmv " + program + " " + folder_ + "/away\nkill -SEGV $$\n"));
  ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
  ProcessOptions options;
  options.arguments = {OCRTUNE_BINARY, "run", "--run-dir", folder_ + "/run", "--pause", "0.01s",
                       "--tries",      "3",   "--",        program};
  Process process = std::move(Process::start(options)).value();
  EXPECT_EQ(process.wait(60).value_or(ProcessExit{}).code, 1);
  EXPECT_THAT(process.output().contents(), HasSubstr("3. could not start: "));
  EXPECT_THAT(kept("report.html"), HasSubstr("could not start: "));
}

// A terminal that is stopped, a pager on its first page: the pipe is full before the first word.
TEST_F(RunCommand, AReaderThatStopsHoldsNothingUp) {
  const std::string pipe = folder_ + "/pipe", ran = folder_ + "/ran";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_TRUE(make_directories(folder_ + "/run"));  // nothing is said before the command runs
  const Descriptor reader{::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  {
    const Descriptor writer{::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)};
    while (::write(writer.number, "\n", 1) == 1) {
    }
  }
  ProcessOptions options;
  options.arguments = {"sh", "-c",
                       "exec \"$0\" run --run-dir " + folder_ + "/run -- sh -c 'echo said; touch " +
                           ran + "' >" + pipe + " 2>&1",
                       OCRTUNE_BINARY};
  Process process = std::move(Process::start(options)).value();
  for (int i = 0; i < 300 && !path_exists(ran); ++i) process.wait(0.1);
  EXPECT_TRUE(path_exists(ran));
  std::string all;
  const auto read_on = [&] {
    std::array<char, 4096> block{};
    for (ssize_t got = 0; (got = ::read(reader.number, block.data(), block.size())) > 0;) {
      all.append(block.data(), static_cast<std::size_t>(got));
    }
  };
  for (int i = 0; i < 600 && !process.wait(0.1); ++i) read_on();
  read_on();
  ASSERT_TRUE(process.poll_exit());
  EXPECT_EQ(process.poll_exit()->code, 0);
  EXPECT_THAT(all, HasSubstr("\nattempt 1: sh -c "));
  EXPECT_THAT(all, HasSubstr("\nsaid\n"));
}

TEST_F(RunCommand, NotesGoIntoNoFileWhereAStreamIsClosed) {
  const std::string closed = "exec \"$0\" run --run-dir " + folder_ +
                             "/run --pause 0.01s --tries 2 -- sh -c 'echo said; exit 7' "
                             "<&- >&- 2>&-";
  ProcessOptions options;
  options.arguments = {"sh", "-c", closed, OCRTUNE_BINARY};
  Process process = std::move(Process::start(options)).value();
  EXPECT_EQ(process.wait(60).value_or(ProcessExit{}).code, 1);
  EXPECT_EQ(kept("attempt-1.log"), "said\n");
  for (const std::string& line : split(kept("journal.jsonl"), '\n')) {
    EXPECT_TRUE(line.empty() || starts_with(line, "{\"at\"")) << line;
  }
}

TEST_F(RunCommand, WrongUseIsOneLine) {
  const std::vector<std::tuple<std::vector<std::string>, std::string, int, std::string>> cases = {
      {{}, "", 2, "after --"},
      {{"--silence", "soon"}, "true", 2, "--silence: 'soon'"},
      {{"--stall", "-3s"}, "true", 2, "-3s"},
      {{"--memory-limit", "0"}, "true", 2, "--memory-limit: '0'"},
      {{"--binding", "tight"}, "true", 2, "tight"},
      {{"--set", "nproc"}, "true", 2, "NAME=VALUE"},
      {{"--resume-arg", "--resume"}, "true", 2, "--checkpoint"},
      {{"--from", "no-such-run", "--db", folder_ + "/none.sqlite"}, "true", 3, "none.sqlite"},
      {{"--binding", "compact", "--set", "nproc=4000"}, "true", 3, "4000"},
  };
  for (const auto& [flags, script, code, word] : cases) {
    EXPECT_EQ(run(flags, script), code) << word << ": " << output_;
    EXPECT_THAT(output_, HasSubstr(word));
    EXPECT_EQ(std::count(output_.begin(), output_.end(), '\n'), 1) << output_;
  }
}

}  // namespace
}  // namespace ocrtune
