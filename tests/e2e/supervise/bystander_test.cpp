// Two supervised runs and a stranger whose command line is the same as theirs: what ends one of the
// three touches no other.
#include <csignal>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"

namespace ocrtune {
namespace {

// What all three call themselves in ps.
const char* const kLookalike = "exec -a 'python tools/train.py -c rec.yml' sleep 300";

class Bystander : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("bystander"); }
  void TearDown() override { ASSERT_TRUE(remove_tree(folder_)); }

  static Process bash(const std::string& script) {
    ProcessOptions options;
    options.arguments = {"bash", "-c", script};
    return std::move(Process::start(options)).value();
  }

  // A supervised run that leaves a lookalike in a session of its own, then does `then`.
  Process supervised(const std::string& name, const std::string& then) const {
    ProcessOptions options;
    options.arguments = {OCRTUNE_BINARY,
                         "run",
                         "--run-dir",
                         folder_ + "/" + name,
                         "--tries",
                         "1",
                         "--",
                         "bash",
                         "-c",
                         std::string("setsid bash -c \"") + kLookalike + "\" & echo $! > " +
                             folder_ + "/" + name + ".pid; " + then};
    return std::move(Process::start(options)).value();
  }

  // The lookalike of a run; 0 if it was not started in 20 s.
  int lookalike(const std::string& name, Process& run) const {
    for (int i = 0; i < 200; ++i) {
      const auto text = read_file(folder_ + "/" + name + ".pid").value_or("");
      const auto pid = parse_integer(trim(text));
      if (pid) return static_cast<int>(*pid);
      if (run.wait(0.1)) break;
    }
    return 0;
  }

  static bool alive(int pid) { return pid > 0 && ::kill(pid, 0) == 0; }

  std::string folder_;
};

TEST_F(Bystander, SurvivesAFailureAndAnInterruptOfOthers) {
  Process stranger = bash(kLookalike);
  Process second = supervised("second", "sleep 300");
  const int of_second = lookalike("second", second);
  ASSERT_TRUE(alive(of_second)) << second.output().contents();

  Process first = supervised("first", "sleep 0.3; kill -9 $$");
  const int of_first = lookalike("first", first);
  ASSERT_GT(of_first, 0) << first.output().contents();
  const auto& failed = first.wait(60);
  ASSERT_TRUE(failed);
  EXPECT_NE(failed->code, 0) << first.output().contents();
  EXPECT_FALSE(alive(of_first)) << "its own is left over";
  EXPECT_FALSE(stranger.poll_exit());
  EXPECT_FALSE(second.poll_exit());
  EXPECT_TRUE(alive(of_second));

  ::kill(second.pid(), SIGINT);
  const auto& stopped = second.wait(60);
  ASSERT_TRUE(stopped);
  EXPECT_EQ(stopped->code, 130) << second.output().contents();
  EXPECT_FALSE(alive(of_second)) << "its own is left over";
  EXPECT_FALSE(stranger.poll_exit());
}

}  // namespace
}  // namespace ocrtune
