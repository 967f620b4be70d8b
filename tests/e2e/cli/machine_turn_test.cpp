// Commands that measure take turns on a machine.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(MachineTurn, FreeMachineIsNotWaitedFor) {
  auto slo = start_slo({"--no-wait"});
  ASSERT_TRUE(slo);
  ASSERT_TRUE(slo->wait(60));
  EXPECT_THAT(slo->output().contents(), HasSubstr("refused"));
}

}  // namespace
}  // namespace ocrtune
