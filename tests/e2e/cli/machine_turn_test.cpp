// Commands that measure take turns on a machine.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"
#include "probes/host/machine_lock.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A process beside the command that measures until it is killed.
class Measuring {
 public:
  Measuring() {
    int ready[2] = {-1, -1};
    if (pipe(ready) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      const auto lock = MachineLock::take(false, {});
      const bool told = lock && lock->held() && write(ready[1], "y", 1) == 1;
      if (told) pause();
      _exit(1);
    }
    close(ready[1]);
    char byte = 0;
    ready_ = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
  }
  ~Measuring() { end(); }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  bool ready() const { return ready_; }

 private:
  pid_t pid_ = -1;
  bool ready_ = false;
};

// Nothing listens there: it fails as soon as it is its turn.
Result<Process> start_slo(const std::vector<std::string>& flags) {
  ProcessOptions options;
  options.arguments = {OCRTUNE_BINARY, "slo", "p99=50ms", "--url", "http://127.0.0.1:1/"};
  options.arguments.insert(options.arguments.end(), flags.begin(), flags.end());
  options.output_bytes = 1 << 16;
  return Process::start(options);
}

TEST(MachineTurn, NoWaitFailsWithTheHoldersName) {
  const Measuring other;
  ASSERT_TRUE(other.ready());
  auto slo = start_slo({"--no-wait"});
  ASSERT_TRUE(slo);
  const auto& exit = slo->wait(60);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 3);
  EXPECT_THAT(slo->output().contents(), HasSubstr("is measuring on this machine"));
  EXPECT_THAT(slo->output().contents(), Not(HasSubstr("refused")));
}

TEST(MachineTurn, OthersWaitAndSaySo) {
  Measuring other;
  ASSERT_TRUE(other.ready());
  auto slo = start_slo({});
  ASSERT_TRUE(slo);
  const auto waits = [&] {
    return slo->output().contents().find("waiting: ") != std::string::npos;
  };
  for (int i = 0; i < 300 && !waits() && !slo->wait(0.2); ++i) {
  }
  EXPECT_TRUE(waits());
  EXPECT_THAT(slo->output().contents(), Not(HasSubstr("refused")));
  other.end();
  const auto& exit = slo->wait(60);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 3);
  EXPECT_THAT(slo->output().contents(), HasSubstr("refused"));
}

// Any user of the machine may have the turn, under any name.
TEST(MachineTurn, AHoldersNameIsShownAndNotObeyed) {
  const std::string folder = *make_temporary_directory("machine_turn");
  ProcessOptions options;
  options.arguments = {"bash",
                       "-c",
                       "exec -a $'\x1b[31mred' \"$0\" \"$@\"",
                       OCRTUNE_BINARY,
                       "tune",
                       "--db",
                       folder + "/runs.sqlite",
                       "--budget",
                       "60s",
                       "--metric",
                       "speed",
                       "--",
                       "sh",
                       "-c",
                       "echo; touch " + folder + "/begun; sleep 60"};
  auto holder = Process::start(options);
  ASSERT_TRUE(holder);
  for (int i = 0; i < 600 && !path_exists(folder + "/begun"); ++i) holder->wait(0.1);
  ASSERT_TRUE(path_exists(folder + "/begun")) << holder->output().contents();
  auto slo = start_slo({});
  ASSERT_TRUE(slo);
  const auto said = [&] { return slo->output().contents(); };
  for (int i = 0; i < 300 && said().find("waiting: ") == std::string::npos; ++i) slo->wait(0.1);
  EXPECT_THAT(said(), HasSubstr("[31mred"));
  EXPECT_THAT(said(), Not(HasSubstr("\x1b")));
  slo->signal(SIGINT);
  EXPECT_TRUE(slo->wait(60));
  holder->signal(SIGINT);
  EXPECT_TRUE(holder->wait(60));
  EXPECT_TRUE(remove_tree(folder));
}

TEST(MachineTurn, FreeMachineIsNotWaitedFor) {
  auto slo = start_slo({"--no-wait"});
  ASSERT_TRUE(slo);
  ASSERT_TRUE(slo->wait(60));
  EXPECT_THAT(slo->output().contents(), HasSubstr("refused"));
}

}  // namespace
}  // namespace ocrtune
