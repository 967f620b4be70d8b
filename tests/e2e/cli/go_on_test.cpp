// Ctrl-C at commands that take longer than two seconds: a line says what is left and how to go on.
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "cli/commands.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

class GoOn : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("go_on_test");
    ::setenv("OCRTUNE_LOCK_DIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("OCRTUNE_LOCK_DIR");
    EXPECT_TRUE(remove_tree(folder_));
  }

  // What the command says in the end; `begun` is what it prints once it is under way, "": nothing.
  std::string interrupted(std::vector<std::string> arguments, const std::string& begun) {
    const bool of_engine = arguments[0] == "worker" || arguments[0] == "make-data";
    const std::string program = of_engine ? OCRTUNE_BINARY + "-engine" : OCRTUNE_BINARY;
    ProcessOptions options;
    arguments.insert(arguments.begin(), OCRTUNE_BINARY);
    options.arguments = std::move(arguments);
    options.directory = folder_;
    Process process = std::move(Process::start(options)).value();
    while (!process.poll_exit() &&
           !(takes_interrupts(process.pid(), program) &&
             process.output().contents().find(begun) != std::string::npos)) {
      (void)process.read_output({});
      steady_clock().sleep_seconds(0.02);
    }
    process.signal(SIGINT);
    const auto& exit = process.wait(120);
    EXPECT_TRUE(exit);
    EXPECT_EQ(exit ? exit->code : -1, 130) << process.output().contents();
    return process.output().contents();
  }

  std::string folder_;

 private:
  // From catch_interrupts() on, all threads block the signal. ocrtune does so too before it becomes
  // the engine's program.
  static bool takes_interrupts(int pid, const std::string& program) {
    const std::string process = "/proc/" + std::to_string(pid);
    if (base_name(real_path(process + "/exe").value_or("")) != base_name(program)) return false;
    const std::string status = read_file(process + "/status").value_or("");
    const std::size_t at = status.find("SigBlk:\t");
    if (at == std::string::npos) return false;
    const auto blocked = std::strtoull(status.c_str() + at + 8, nullptr, 16);
    return (blocked >> (SIGINT - 1) & 1) != 0;
  }
};

TEST_F(GoOn, Probe) { EXPECT_THAT(interrupted({"probe"}, ""), HasSubstr("--quick measures")); }

TEST_F(GoOn, Worker) {
  EXPECT_THAT(interrupted({"worker", "--seconds", "60s", "nproc=1", "threads=1", "batch=4"}, ""),
              HasSubstr("interrupted; nothing is stored"));
}

TEST_F(GoOn, MakeData) {
  EXPECT_THAT(interrupted({"make-data", "lines", "--count", "5000000"}, ""),
              HasSubstr("--force draws all of them"));
}

TEST_F(GoOn, Run) {
  if (find_command("run") == nullptr) GTEST_SKIP() << "a build without the extra supervise";
  const std::vector<std::string> line = {
      "run", "--run-dir", "kept", "--", "sh", "-c", "echo begun; sleep 100"};
  EXPECT_THAT(interrupted(line, "begun"), HasSubstr("the same line starts it anew"));
}

TEST_F(GoOn, Slo) {
  EXPECT_THAT(interrupted({"slo", "p99=1s", "--budget", "60s", "--", "cat"}, ""),
              HasSubstr("nothing is stored"));
}

TEST_F(GoOn, Replay) {
  std::string table =
      "# cores=4\nnproc,threads,batch,samples_per_second,peak_bytes,outcome,noise_sigma\n";
  for (int nproc = 1; nproc <= 8; ++nproc) {
    for (int batch = 1; batch <= 64; ++batch) {
      table += std::to_string(nproc) + ",1," + std::to_string(batch) + "," +
               std::to_string(nproc * batch) + ",1000,ok,0.01\n";
    }
  }
  ASSERT_TRUE(write_file(join_path(folder_, "table.csv"), table));
  EXPECT_THAT(interrupted({"replay", "--table", "table.csv", "--repeat", "100000"}, ""),
              HasSubstr("the searches above have ended"));
}

}  // namespace
}  // namespace ocrtune
