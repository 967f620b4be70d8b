#include "base/process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include <gtest/gtest.h>

#include "base/cpu_set.h"

namespace ocrtune {
namespace {

ProcessOptions shell(const std::string& script) {
  ProcessOptions options;
  options.arguments = {"sh", "-c", script};
  return options;
}

std::string output_of(const ProcessOptions& options) {
  auto process = Process::start(options);
  if (!process) return "error: " + process.error().what;
  process->wait(10);
  return process->output().contents();
}

TEST(Process, GivesExitCodeAndBothStreams) {
  auto process = Process::start(shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(process.ok());
  const auto exit = process->wait(10);
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, 3);
  EXPECT_EQ(exit->text(), "exit code 3");
  EXPECT_EQ(process->output().contents(), "out\nerr\n");
}

TEST(Process, NamesTheSignal) {
  auto process = Process::start(shell("kill -SEGV $$"));
  ASSERT_TRUE(process.ok());
  ASSERT_TRUE(process->wait(10).has_value());
  EXPECT_EQ(process->poll_exit()->signal, SIGSEGV);
  EXPECT_EQ(process->poll_exit()->text(), "killed by SIGSEGV");
}

TEST(Process, ReadsFromTheGivenInputElseFromNothing) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::write(ends[1], "said\n", 5), 5);
  ::close(ends[1]);
  ProcessOptions options = shell("cat; echo end");
  options.input = ends[0];
  EXPECT_EQ(output_of(options), "said\nend\n");
  ::close(ends[0]);
  EXPECT_EQ(output_of(shell("cat; echo end")), "end\n");
}

TEST(Process, TakesArgumentsLiterally) {
  ProcessOptions options;
  options.arguments = {"printf", "%s", "$HOME; `id` 'x' *"};
  EXPECT_EQ(output_of(options), "$HOME; `id` 'x' *");
}

TEST(Process, ChangesEnvironmentAndFolder) {
  ::setenv("OCRTUNE_TEST_GONE", "1", 1);
  ::setenv("OCRTUNE_TEST_KEPT", "kept", 1);
  ProcessOptions options = shell("echo ${OCRTUNE_TEST_GONE-unset} $OCRTUNE_TEST_KEPT $FRESH; pwd");
  options.environment = {
      {"OCRTUNE_TEST_GONE", std::nullopt}, {"FRESH", "first"}, {"FRESH", "a b=c"}};
  options.directory = "/";
  EXPECT_EQ(output_of(options), "unset kept a b=c\n/\n");
}

TEST(Process, NamesWhatIsMissing) {
  ProcessOptions options;
  options.arguments = {"no-such-program-here"};
  auto process = Process::start(options);
  ASSERT_FALSE(process.ok());
  EXPECT_EQ(process.error().kind, ErrorKind::missing);
  EXPECT_NE(process.error().what.find("no-such-program-here"), std::string::npos);

  options.arguments = {"/etc/passwd"};
  process = Process::start(options);
  ASSERT_FALSE(process.ok());
  EXPECT_EQ(process.error().kind, ErrorKind::denied);

  options.arguments = {"true"};
  options.directory = "/no/such/folder";
  process = Process::start(options);
  ASSERT_FALSE(process.ok());
  EXPECT_EQ(process.error().what, "change to folder /no/such/folder: No such file or directory");

  options = ProcessOptions();
  process = Process::start(options);
  ASSERT_FALSE(process.ok());
  EXPECT_EQ(process.error().kind, ErrorKind::usage);
}

TEST(Process, ReportsAnImpossibleBinding) {
  ProcessOptions options;
  options.arguments = {"true"};
  options.cpus = CpuSet({4095});
  auto process = Process::start(options);
  ASSERT_FALSE(process.ok());
  EXPECT_NE(process.error().what.find("bind true to CPUs 4095"), std::string::npos);
}

TEST(Process, BindsToTheMask) {
  ProcessOptions options;
  const int cpu = current_affinity().cpus().back();
  options.arguments = {"grep", "Cpus_allowed_list", "/proc/self/status"};
  options.cpus = CpuSet({cpu});
  EXPECT_EQ(output_of(options), "Cpus_allowed_list:\t" + std::to_string(cpu) + "\n");
}

TEST(Process, IsItsOwnSessionWithDefaultSignals) {
  ::signal(SIGPIPE, SIG_IGN);
  auto process = Process::start(shell("cut -d' ' -f6 /proc/$$/stat; grep SigIgn /proc/$$/status"));
  ASSERT_TRUE(process.ok());
  process->wait(10);
  EXPECT_EQ(process->output().contents(),
            std::to_string(process->pid()) + "\nSigIgn:\t0000000000000000\n");
}

TEST(Process, RaisesOomScore) {
  ProcessOptions options;
  options.arguments = {"cat", "/proc/self/oom_score_adj"};
  options.oom_score_adjust = 700;
  EXPECT_EQ(output_of(options), "700\n");
}

TEST(Process, LimitsMemory) {
  ProcessOptions options = shell("ulimit -d; ulimit -v");
  options.data_limit_bytes = 64 << 20;
  options.address_limit_bytes = 1 << 30;
  EXPECT_EQ(output_of(options), "65536\n1048576\n");
}

TEST(Process, KeepsOnlyTheNamedDescriptors) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const int leaked = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC on purpose
  ProcessOptions options = shell("echo event >&" + std::to_string(ends[1]) + "; ls /proc/self/fd");
  options.descriptors = {ends[1]};
  const std::string listing = output_of(options);
  EXPECT_EQ(listing.find("\n" + std::to_string(leaked) + "\n"), std::string::npos) << listing;
  ::close(ends[1]);
  char text[16] = {};
  EXPECT_EQ(::read(ends[0], text, sizeof text), 6);
  EXPECT_STREQ(text, "event\n");
  ::close(ends[0]);
  ::close(leaked);
}

TEST(Process, WaitKeepsItsDeadline) {
  auto process = Process::start(shell("sleep 30"));
  ASSERT_TRUE(process.ok());
  const double begin = steady_clock().now_seconds();
  EXPECT_FALSE(process->wait(0.1).has_value());
  EXPECT_LT(steady_clock().now_seconds() - begin, 5.0);
  process->signal(SIGKILL);
  ASSERT_TRUE(process->wait(10).has_value());
  EXPECT_EQ(process->poll_exit()->signal, SIGKILL);
}

TEST(Process, FloodCostsNoMemory) {
  ProcessOptions options = shell("head -c 200000000 /dev/zero | tr '\\0' x; echo; echo last line");
  options.output_bytes = 4096;
  auto process = Process::start(options);
  ASSERT_TRUE(process.ok());
  ASSERT_TRUE(process->wait(60).has_value());
  EXPECT_EQ(process->output().total_bytes(), 200000011u);
  EXPECT_EQ(process->output().contents().size(), 4096u);
  EXPECT_EQ(process->output().tail(1), "last line");
}

TEST(Process, DestructorLeavesNoZombie) {
  int pid = 0;
  {
    auto process = Process::start(shell("sleep 30"));
    ASSERT_TRUE(process.ok());
    pid = process->pid();
    EXPECT_TRUE(started_here(pid));
  }
  EXPECT_FALSE(started_here(pid));
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(OutputRing, TailsWholeLines) {
  OutputRing ring(16);
  ring.append("first line\nsecond\n");
  ring.append("third\n\n");
  EXPECT_EQ(ring.tail(2), "second\nthird");
  EXPECT_EQ(ring.tail(100), "e\nsecond\nthird");
  ring.append("\xff\xfe broken\n");
  EXPECT_EQ(ring.tail(1), "\xEF\xBF\xBD\xEF\xBF\xBD broken");
}

// A tracer holds the child at its end, as a dead disk or a driver would.
TEST(Process, AStuckChildHoldsNobodyUp) {
  ProcessOptions options;
  options.arguments = {"sleep", "100"};
  auto child = std::move(Process::start(options)).value();
  const int pid = child.pid();
  int ready[2], go[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(go, O_CLOEXEC), 0);
  const pid_t tracer = ::fork();
  if (tracer == 0) {
    ::close(go[1]);
    char seized = ::ptrace(PTRACE_SEIZE, pid, nullptr, PTRACE_O_TRACEEXIT) == 0 ? 'y' : 'n';
    if (::write(ready[1], &seized, 1) != 1 || ::read(go[0], &seized, 1) != 0) ::_exit(1);
    ::_exit(0);  // lets it go
  }
  ::close(go[0]);
  char seized = 'n';
  ASSERT_EQ(::read(ready[0], &seized, 1), 1);
  const double begin = steady_clock().now_seconds();
  { const Process gone = std::move(child); }
  const double seconds = steady_clock().now_seconds() - begin;
  const bool stuck = ::kill(pid, 0) == 0;
  ::close(go[1]);
  ::close(ready[0]);
  ::close(ready[1]);
  ::waitpid(tracer, nullptr, 0);
  if (seized != 'y' || !stuck) GTEST_SKIP() << "no child can be held here";
  EXPECT_GE(seconds, 4) << "it may still come to its end";
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
}

}  // namespace
}  // namespace ocrtune
