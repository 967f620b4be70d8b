// ocrtune run --hosts in a test bed of several hosts.
#include <cstdio>
#include <cstdlib>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "tests/support/host_bed.h"

namespace ocrtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RunHosts : public HostBedTest {
 protected:
  // "$OCRTUNE run --hosts a,b ... -- sh -c 'job'"
  std::string run(const std::string& flags, const std::string& job) const {
    return "$OCRTUNE run --hosts a,b --pause 100ms --run-dir " + folder_ + "/$((n = n + 1)) " +
           flags + " -- sh -c '" + job + "' {nodes}";
  }
};

TEST_F(RunHosts, EachHostStartsItsPartAndAnswersForIt) {
  const std::string disk = folder_ + "/disk";
  const BedSaid said = run_in_bed(
      {"a", "b"},
      run("", "echo $(hostname) {node_rank}/$0 {master_addr} {hostlist}") + "; echo code $?; " +
          run("--tries 2", "[ {node_rank} = 0 ] || exit 7; sleep 60") + "; echo code $?; mkdir " +
          disk + "; ssh b mount -t tmpfs -o size=64k none " + disk + "; " +
          run("", "head -c 100000 /dev/zero > " + disk + "/{node_rank} || exit 1; sleep 60") +
          " 2>/dev/null; grep -h '|' " + folder_ + "/3/attempt-1.log");
  EXPECT_THAT(said.text, AllOf(HasSubstr("a | a 0/2 10.77.0.1 a,b\n"),
                               HasSubstr("b | b 1/2 10.77.0.1 a,b\n"), HasSubstr("code 0\n")));
  EXPECT_THAT(said.text, AllOf(HasSubstr("1. b: exit code 7 after"),
                               HasSubstr("2. b: exit code 7 after"), HasSubstr("code 1\n")));
  EXPECT_THAT(said.text, AllOf(HasSubstr("1. b: exit code 1 after"), HasSubstr("disk_full"),
                               HasSubstr("b | head: ")));
}

TEST_F(RunHosts, WrongUseIsOneLine) {
  const struct {
    std::string command;
    int code;
    const char* says;
  } cases[] = {
      {"$OCRTUNE run --hosts a,b -- true", 2, "the command ignores nodes"},
      {"$OCRTUNE run --hosts a,b --set nodes=3 -- echo {nodes}", 2, "--hosts names 2"},
      {"$OCRTUNE run --hosts a,d -- echo {nodes}", 3, "d: "},
      {"$OCRTUNE run --set nodes=2 -- echo {nodes} {node_rank}", 2, "named with --hosts"},
  };
  std::string script;
  for (const auto& one : cases) script += one.command + " 2>&1; echo code $?; ";
  const BedSaid said = run_in_bed({"a", "b", "d:down"}, script);
  for (const auto& one : cases) {
    EXPECT_THAT(said.text, HasSubstr(one.says));
    EXPECT_THAT(said.text, HasSubstr(fmt::format("code {}\n", one.code)));
  }
}

// A job that sleeps on both hosts, started in the background; `left` tells what still runs there.
constexpr const char* kWays = R"sh(
start() {
  what=$1; shift
  $OCRTUNE run --hosts a,b --tries 1 --run-dir $D/$what "$@" -- \
    sh -c 'echo {nodes}; sleep 61.5 & wait $!; exit 7' > $D/$what.out 2>&1 & pid=$!
}
launcher() {
  b=$(cat $(dirname $(dirname $(command -v ssh)))/b.pid)
  pkill -KILL -P $pid -f "^(nsenter --target $b|mpirun --host b|srun --nodelist=b) "
}
up() { for i in $(seq 200); do ssh b "pgrep -f '[s]leep 61.5'" >/dev/null && return; sleep 0.1; done; }
running() { ssh $1 ps -e -o args | grep -e '[s]leep 61.5' -e '[o]crtune node'; }
end() {
  wait $pid; echo "$what: code $?"; grep -h '^1\. ' $D/$what.out
  ssh b "pkill -CONT -f '[o]crtune node'"
  for host in a b; do
    for i in $(seq 150); do running $host >/dev/null || break; sleep 0.1; done
    running $host && echo "$what: LEFT on $host" && cat $D/$what.out
  done
}
)sh";

TEST_F(RunHosts, WhoDiesOrIsCutOffIsNamedAndNothingIsLeft) {
  const BedSaid said = run_in_bed(
      {"a", "b"}, "D=" + folder_ + kWays +
                      "start agent; up; ssh b \"pkill -o -KILL -f '[o]crtune node'\"; end;"
                      "start ended; up; ssh b \"pkill -o -TERM -f '[o]crtune node'\"; end;"
                      "start launcher; up; launcher; end;"
                      "start rank; up; ssh b \"pkill -KILL -f '[s]h -c echo'\"; end;"
                      "start silent --silence 3s; up; ssh b ip link set eth0 down; end");
  EXPECT_THAT(said.text, Not(HasSubstr("LEFT")));
  EXPECT_THAT(said.text, HasSubstr("network interface down: b: eth0"));
  for (const char* line :
       {"agent: code 1\n1. b: ssh ended with", "ended: code 1\n1. b: ssh ended with exit code 143",
        "rank: code 1\n1. b: killed by SIGKILL", "launcher: code 1\n1. b: ssh ended with",
        "silent: code 1\n1. stopped: silent for 3."}) {
    EXPECT_THAT(said.text, HasSubstr(line));
  }
}

TEST_F(RunHosts, AStoppedHostIsNamedAndAKilledFrontEndLeavesNothing) {
  const BedSaid said = run_in_bed({"a", "b"}, "D=" + folder_ + kWays +
                                                  "start stopped --host-patience 10s; up; ssh b "
                                                  "\"pkill -o -STOP -f '[o]crtune node'\"; end;"
                                                  "start front; up; kill -KILL $pid; end;"
                                                  "start ctrl-c; up; kill -INT $pid; end");
  EXPECT_THAT(said.text, Not(HasSubstr("LEFT")));
  for (const char* line :
       {"stopped: code 1\n1. b: silent for 10", "front: code 137\n", "ctrl-c: code 130\n"}) {
    EXPECT_THAT(said.text, HasSubstr(line));
  }
}

// A switch that flaps, a laptop's lid: hours of training are not thrown away for 12 s of silence,
// at which a measurement ends.
TEST_F(RunHosts, ATrainingOutlastsASilentHost) {
  const BedSaid said = run_in_bed(
      {"a", "b"},
      "$OCRTUNE run --hosts a,b --tries 1 --run-dir " + folder_ +
          "/run -- sh -c 'echo {nodes}; sleep 17.5' > " + folder_ +
          "/out 2>&1 & pid=$!; "
          "for i in $(seq 200); do ssh b \"pgrep -f '[s]leep 17.5'\" >/dev/null && break; sleep "
          "0.1; done; ssh b \"pkill -o -STOP -f '[o]crtune node'\"; sleep 12; "
          "ssh b \"pkill -o -CONT -f '[o]crtune node'\"; wait $pid; echo code $?; cat " +
          folder_ + "/out");
  EXPECT_THAT(said.text, AllOf(HasSubstr("code 0\n"), HasSubstr("1. exit code 0 after"),
                               Not(HasSubstr("silent for"))));
}

// Its agent is killed, and for some seconds nobody answers there, as in a reboot: no failure is
// counted for that, and the agent of the other host is not started anew.
TEST_F(RunHosts, AHostThatIsAwayIsWaitedFor) {
  const std::string mark = folder_ + "/mark";
  const BedSaid said = run_in_bed(
      {"a", "b"},
      "bed=$(dirname $(dirname $(command -v ssh))); $OCRTUNE run --hosts a,b --pause 100ms "
      "--tries 2 --deadline 5s --run-dir " +
          folder_ + "/run -- sh -c 'echo {nodes} of {node_rank}; [ -e " + mark +
          " ] || { sleep 60 & wait $!; exit 7; }; for i in $(seq 40); do [ -e " + mark +
          ".seen ] && break; sleep 0.1; done' > " + folder_ +
          "/out 2>&1 & pid=$!; "
          "for i in $(seq 200); do ssh b \"pgrep -f '[s]leep 60'\" >/dev/null && break; sleep 0.1; "
          "done; "
          "first=$(ssh a \"pgrep -o -f '[o]crtune node'\"); touch " +
          mark +
          "; mv $bed/b.pid $bed/b.away; "
          "nsenter --target $(cat $bed/b.away) --pid --mount pkill -o -KILL -f '[o]crtune node'; "
          "sleep 8; mv $bed/b.away $bed/b.pid; "
          "for i in $(seq 300); do [ -e " +
          folder_ +
          "/run/attempt-2.log ] && break; sleep 0.1; done; "
          "echo agent $first $(ssh a \"pgrep -o -f '[o]crtune node'\"); "
          "touch " +
          mark + ".seen; wait $pid; echo code $?; cat " + folder_ + "/out");
  EXPECT_THAT(said.text, HasSubstr("code 0\n"));
  EXPECT_THAT(said.text, HasSubstr("waits for b: "));
  EXPECT_THAT(said.text, HasSubstr("; host_unreachable; next: the same setting"));
  EXPECT_THAT(said.text, HasSubstr("2. exit code 0 after"));
  int before = 0, after = -1;
  const std::size_t at = said.text.find("agent ");
  ASSERT_NE(at, std::string::npos) << said.text;
  ASSERT_EQ(std::sscanf(said.text.c_str() + at, "agent %d %d", &before, &after), 2) << said.text;
  EXPECT_EQ(before, after) << "a's agent was started anew: " << said.text;
}

// The command is longer than what a pipe takes at once.
TEST_F(RunHosts, ALongCommandReachesTheHosts) {
  const BedSaid said = run_in_bed(
      {"a", "b"},
      "word=$(head -c 100000 /dev/zero | tr '\\0' x); $OCRTUNE run --hosts a,b --run-dir " +
          folder_ +
          "/run -- sh -c 'echo {nodes} ${#1}' sh $word 2>&1 | tail -c 2000; echo code $?");
  EXPECT_THAT(said.text, AllOf(HasSubstr("a | 2 100000"), HasSubstr("b | 2 100000")));
}

// OCRTUNE_TEST_KILLS=20: more of them; OCRTUNE_TEST_LAUNCHER=mpirun or srun: through that one. The
// job ends well by itself where nobody was hit.
TEST_F(RunHosts, KillsAtAnyTimeLeaveNothing) {
  const char* asked = std::getenv("OCRTUNE_TEST_KILLS");
  const int kills = asked == nullptr ? 4 : std::atoi(asked);
  const char* named = std::getenv("OCRTUNE_TEST_LAUNCHER");
  const std::string with = named == nullptr ? "ssh" : named;
  const char* const victims[] = {"launcher", "ssh b \"pkill -o -KILL -f '[o]crtune node'\"",
                                 "ssh b \"pkill -KILL -f '[s]leep 61.5'\"", "kill -KILL $pid"};
  std::mt19937 random(21);
  std::uniform_real_distribution<double> seconds(0, 2);
  std::string script = "D=" + folder_ + kWays;
  for (int i = 0; i < kills; ++i) {
    script += fmt::format("start {} --launcher {}; sleep {:.2f}; {} || kill -INT $pid; end\n", i,
                          with, seconds(random), victims[i % 4]);
  }
  if (with == "srun") {
    ASSERT_TRUE(write_file(folder_ + "/script", script));
    script = fmt::format("{}/scripts/slurm a b -- salloc -Q -N2 sh {}/script", OCRTUNE_SOURCE_DIR,
                         folder_);
  }
  const BedSaid said = run_in_bed({"a", "b"}, script, 60 + 25 * kills);
  if (asked != nullptr) std::puts(said.text.c_str());
  for (int i = 0; i < kills; ++i) EXPECT_THAT(said.text, HasSubstr(fmt::format("{}: code", i)));
  EXPECT_THAT(said.text, AllOf(Not(HasSubstr("LEFT")), Not(HasSubstr("code 0"))));
}

}  // namespace
}  // namespace ocrtune
