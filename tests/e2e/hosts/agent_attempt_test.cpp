// An agent's part of a long run: what it starts has its grace whatever happens to the launcher, and
// never meets what a later agent of the same run starts.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/line_splitter.h"
#include "base/process.h"
#include "base/text.h"
#include "extras/hosts/agent_messages.h"
#include "extras/hosts/host_trial.h"
#include "tests/support/asked_agent.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class AgentAttempt : public ::testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);  // an agent may end at any time
    folder_ = *make_temporary_directory("agent_attempt");
    run_ = fmt::format("test{}.0", ::getpid());
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }

  FieldsJson attempt(std::vector<std::string> command, double grace_seconds) const {
    HostTrial part;
    part.workload.command = std::move(command);
    part.workload.directory = folder_;
    FieldsJson json = FieldsJson::parse(host_trial_json(part));
    json["ask"] = "attempt";
    json["id"] = 1;
    json["run"] = run_;
    json["plan"] = {{"trial_dir", folder_ + "/files"},
                    {"oom_score_adjust", 0},
                    {"stall_seconds", 0},
                    {"memory_limit_bytes", 0},
                    {"stop_grace_seconds", grace_seconds},
                    {"kept_paths", FieldsJson::array()}};
    return json;
  }
  // Saves for so long when it is told to end.
  FieldsJson saver(int seconds, double grace_seconds) const {
    return attempt(
        {"sh", "-c",
         fmt::format("trap 'echo told >> log; sleep {}; echo saved >> log; exit 1' TERM; "
                     "echo begun >> log; while :; do sleep 0.05; done",
                     seconds)},
        grace_seconds);
  }
  std::string log() const { return read_file(folder_ + "/log").value_or(""); }
  void wait_for_log(AskedAgent& agent) const {
    const double end = steady_seconds() + 60;
    while (log().empty() && steady_seconds() < end) {
      agent.beat();
      ::usleep(50000);
    }
  }
  // What is found as ssh: $last is the line for the host's shell.
  void put_ssh(const std::string& lines) const {
    const std::string ssh = folder_ + "/ssh";
    ASSERT_TRUE(write_file(ssh, "#!/bin/sh\nfor word; do last=$word; done\n" + lines + "\n"));
    ASSERT_EQ(::chmod(ssh.c_str(), 0755), 0);
  }
  Process run_on_host(const std::vector<std::string>& command) const {
    ProcessOptions options;
    options.arguments = {OCRTUNE_BINARY, "run",          "--hosts", "h",
                         "--launcher",   "ssh",          "--pause", "10ms",
                         "--run-dir",    folder_ + "/r", "--"};
    options.arguments.insert(options.arguments.end(), command.begin(), command.end());
    const char* path = std::getenv("PATH");
    options.environment = {{"PATH", folder_ + ":" + (path == nullptr ? "" : path)}};
    return std::move(Process::start(options)).value();
  }

  std::string folder_, run_;
};

TEST_F(AgentAttempt, KeepsItsGraceWithoutALauncher) {
  AskedAgent agent;
  agent.ask(saver(11, 20));
  wait_for_log(agent);
  agent.hang_up();
  EXPECT_EQ(log(), "begun\ntold\nsaved\n");
}

TEST_F(AgentAttempt, AStartErrorHasItsKind) {
  AskedAgent agent;
  agent.ask(attempt({"/nowhere/train"}, 1));
  const auto error = parse_error(agent.reply(1));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::missing);
  EXPECT_THAT(error->what, HasSubstr("/nowhere/train"));
}

TEST_F(AgentAttempt, ALinkThatStandsHoldsNoJobUp) {
  AskedAgent agent;
  agent.ask(attempt({"sh", "-c", "head -c 4000000 /dev/zero | tr '\\0' x; echo ended > log"}, 1));
  wait_for_log(agent);  // nobody reads what the agent tells
  EXPECT_EQ(log(), "ended\n");
  const FieldsJson reply = agent.reply(1);
  ASSERT_TRUE(reply.is_object());
  EXPECT_FALSE(parse_error(reply)) << reply.dump();
}

// The link broke and nobody hung up: the first agent would work on until its silence is too long.
TEST_F(AgentAttempt, ALaterAgentEndsTheFormerOne) {
  AskedAgent former;
  former.ask(saver(1, 20));
  wait_for_log(former);
  AskedAgent later;
  later.ask({{"ask", "succeed"}, {"id", 1}, {"run", "another.0"}, {"stop_grace_seconds", 20}});
  EXPECT_FALSE(later.reply(1).is_null());
  EXPECT_EQ(log(), "begun\n") << "of another run";
  later.ask({{"ask", "succeed"}, {"id", 2}, {"run", run_}, {"stop_grace_seconds", 20}});
  const FieldsJson reply = later.reply(2);
  EXPECT_FALSE(parse_error(reply)) << reply.dump();
  EXPECT_EQ(log(), "begun\ntold\nsaved\n");
  EXPECT_TRUE(former.has_ended());
  later.ask({{"ask", "succeed"}, {"id", 3}, {"run", run_}, {"stop_grace_seconds", 20}});
  EXPECT_FALSE(parse_error(later.reply(3))) << "nobody is left";
}

TEST_F(AgentAttempt, AFormerAgentThatIsStoppedIsKilled) {
  AskedAgent former;
  former.ask(saver(0, 0));
  wait_for_log(former);
  former.stop();
  AskedAgent later;
  later.ask({{"ask", "succeed"}, {"id", 1}, {"run", run_}, {"stop_grace_seconds", 0}});
  const FieldsJson reply = later.reply(1);
  EXPECT_FALSE(parse_error(reply)) << reply.dump();
  EXPECT_TRUE(former.has_ended());
}

// The launcher's ssh dies, and its other end neither reads nor hangs up, as in a partition.
TEST_F(AgentAttempt, TwoTrainingsOfARunDoNotMeet) {
  put_ssh("if mkdir " + folder_ + "/first 2>/dev/null; then hold='sh " + folder_ +
          "/holder'; else hold=true; fi; fifo=" + folder_ + "/fifo.$$; mkfifo $fifo; echo $$ >> " +
          folder_ + "/clients\nexec 3<&0\n" +
          "{ { cat; exec $hold; } <&3 3<&- | sh -c \"$last\" 3<&-; } >$fifo 2>/dev/null &\n"
          "exec cat $fifo 3<&-");
  ASSERT_TRUE(write_file(folder_ + "/holder", "echo $$ > " + folder_ + "/held; exec sleep 60\n"));
  const std::string job = "echo begun >> " + folder_ + "/log; [ -e " + folder_ +
                          "/once ] && exit 0; touch " + folder_ +
                          "/once; trap 'sleep 2; echo ended >> " + folder_ +
                          "/log; exit 1' TERM; while :; do sleep 0.05; done";
  Process run = run_on_host({"sh", "-c", job});
  for (int i = 0; i < 3000 && log().empty() && !run.poll_exit(); ++i) run.wait(0.02);
  const auto clients = read_file(folder_ + "/clients");
  ASSERT_TRUE(clients) << run.output().contents();
  const auto client = parse_integer(trim(*clients));
  ASSERT_TRUE(client) << *clients;
  ASSERT_EQ(::kill(static_cast<pid_t>(*client), SIGKILL), 0);
  const auto& exit = run.wait(100);
  ASSERT_TRUE(exit) << run.output().contents();
  EXPECT_EQ(exit->code, 0) << run.output().contents();
  EXPECT_EQ(log(), "begun\nended\nbegun\n") << run.output().contents();
  const auto held = parse_integer(trim(read_file(folder_ + "/held").value_or("")));
  ASSERT_TRUE(held) << "the first agent's input ended";
  ::kill(static_cast<pid_t>(*held), SIGKILL);
}

TEST_F(AgentAttempt, AProgramThatAHostLacksIsNoLostHost) {
  const char* path = std::getenv("PATH");
  put_ssh("PATH=" + shell_quote(path == nullptr ? "" : path) + " exec sh -c \"$last\"");
  ASSERT_TRUE(write_file(folder_ + "/only_here", "#!/bin/sh\n"));
  ASSERT_EQ(::chmod((folder_ + "/only_here").c_str(), 0755), 0);
  Process run = run_on_host({"only_here"});
  const auto& exit = run.wait(100);
  ASSERT_TRUE(exit);
  const std::string said = run.output().contents();
  EXPECT_EQ(exit->code, 3) << said;
  EXPECT_THAT(said, HasSubstr("ocrtune run: h: 'only_here'"));
  EXPECT_THAT(said, Not(HasSubstr("host_unreachable")));
}

}  // namespace
}  // namespace ocrtune
