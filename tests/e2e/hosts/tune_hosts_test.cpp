// ocrtune tune --hosts in a test bed of several hosts: a job of one process a host, whose compute
// is a sleep, so that what the network costs shows on a busy machine too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"
#include "tests/support/answered.h"
#include "tests/support/host_bed.h"

namespace ocrtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using Json = nlohmann::json;

class TuneHosts : public HostBedTest {
 protected:
  void SetUp() override {
    if (!find_executable("python3")) GTEST_SKIP() << "no python3 here";
    HostBedTest::SetUp();
  }

  // "$OCRTUNE tune ... -- job", each host with its own numbers.
  std::string tune(const std::string& flags, const std::string& job = "",
                   const std::string& trial_time = "500ms") const {
    return "$OCRTUNE tune --db " + folder_ + "/runs.sqlite --trial-time " + trial_time + " --cwd " +
           folder_ + " --metric ips --metric-of job --nproc 1 --threads 1 --batch 8 " + flags +
           " -- python3 " + OCRTUNE_SOURCE_DIR +
           "/tests/support/host_job.py --nodes {nodes} --rank {node_rank} --master {master_addr} "
           "--port {master_port} --hosts {hostlist} --batch {batch} " +
           job;
  }
};

// Waits in the bed until nothing of a job and no agent is left on b, else fails with 9.
constexpr const char* kNothingLeft =
    "; for i in $(seq 150); do ssh b ps -e -o args | grep -q -e '[h]ost_job' -e 'ocrtune [n]ode' "
    "|| break; sleep 0.1; done; ssh b ps -e -o args | grep -e '[h]ost_job' -e 'ocrtune [n]ode' && "
    "exit 9; ";

TEST_F(TuneHosts, TwoHostsWinAndEachRankIsWhereItIsMeantToBe) {
  const BedSaid said = run_in_bed(
      {"a", "b"}, tune("--hosts a,b --budget 20s --json 2>/dev/null", "--note .") +
                      "; code=$?; $OCRTUNE verify last --for 3s --db " + folder_ +
                      "/runs.sqlite > " + folder_ + "/verified 2>&1; $OCRTUNE tune --resume " +
                      "--budget 4s --db " + folder_ + "/runs.sqlite > " + folder_ +
                      "/resumed 2>&1; exit $code");
  ASSERT_TRUE(answered(said.code, said.text)) << said.text;
  const Json json = Json::parse(said.text, nullptr, false);
  ASSERT_TRUE(json.is_object()) << said.text;
  const Json& best = json["recommendation"];
  EXPECT_EQ(best["knobs"]["dims"]["nodes"], "2") << said.text;
  EXPECT_THAT(best["command"].get<std::string>(),
              HasSubstr("--nodes 2 --rank '<NODE_RANK>' --master '<MASTER_ADDR>' --port 29500"));
  const std::string verified = read_file(folder_ + "/verified").value_or("");
  EXPECT_THAT(verified, AllOf(HasSubstr("nodes=2"), Not(HasSubstr("not measured"))));
  EXPECT_THAT(read_file(folder_ + "/resumed").value_or(""),
              AllOf(HasSubstr("nodes=2"), Not(HasSubstr("host_lost"))));
  EXPECT_EQ(read_file(folder_ + "/0").value_or(""), "a 0/2 10.77.0.1 a,b\n");
  EXPECT_EQ(read_file(folder_ + "/1").value_or(""), "b 1/2 10.77.0.1 a,b\n");
}

TEST_F(TuneHosts, OneHostIsFasterOnASlowLink) {
  const BedSaid said = run_in_bed({"a:rate=100mbit", "b:rate=100mbit"},
                                  tune("--hosts a,b --budget 20s --json 2>/dev/null",
                                       "--bytes 2000000"));  // 0.32 s of a step of 0.05 s
  ASSERT_TRUE(answered(said.code, said.text)) << said.text;
  const Json json = Json::parse(said.text, nullptr, false);
  ASSERT_TRUE(json.is_object()) << said.text;
  EXPECT_EQ(json["recommendation"]["knobs"]["dims"]["nodes"], "1") << said.text;
  EXPECT_THAT(said.text, HasSubstr("One host is faster than 2"));
  EXPECT_THAT(said.text, HasSubstr("The network would have to give"));
}

// Over MPI: every rank trains, the slow host is named, and nothing stays behind.
TEST_F(TuneHosts, TheBuiltInEngineRunsOnBothHosts) {
  if (!find_executable("mpirun")) GTEST_SKIP() << "no mpirun here";
  if (!path_exists(parent_path(OCRTUNE_BINARY) + "/ocrtune-mpi-worker")) {
    GTEST_SKIP() << "this build has no MPI part";
  }
  const BedSaid said =
      run_in_bed({"a", "b"},
                 "$OCRTUNE tune --db " + folder_ +
                     "/runs.sqlite --hosts a,b --budget 20s --trial-time 1s --model crnn --nproc 1 "
                     "--threads 1 --batch 4 --accumulate 2 --json --out " +
                     folder_ + "/out 2>" + folder_ +
                     "/errors; code=$?; ssh b ps -e -o args | grep '[o]crtune-mpi' && code=9; "
                     "exit $code");
  ASSERT_TRUE(answered(said.code, said.text))
      << said.text << read_file(folder_ + "/errors").value_or("");
  const Json json = Json::parse(said.text, nullptr, false);
  ASSERT_TRUE(json.is_object()) << said.text;
  EXPECT_THAT(measured_nodes(json), testing::ElementsAre("1", "2")) << said.text;
  const std::string page = read_file(folder_ + "/out/report.html").value_or("");
  EXPECT_THAT(page, HasSubstr("a: of a step, computing "));
  EXPECT_THAT(page, HasSubstr("a to b ("));
  EXPECT_THAT(page, HasSubstr("b: its available memory fell by "));
  EXPECT_EQ(json["recommendation"]["knobs"]["accumulate"], 2) << said.text;
  EXPECT_THAT(said.text, HasSubstr("accumulate=2"));
}

TEST_F(TuneHosts, AFailureIsNamedByItsHost) {
  const BedSaid said = run_in_bed({"a", "b"}, tune("--hosts a,b --nodes 2 --budget 5s --json "
                                                   "2>/dev/null",
                                                   "--fail 1") +
                                                  kNothingLeft);
  const Json json = Json::parse(said.text, nullptr, false);
  ASSERT_TRUE(json.is_object()) << said.text;
  EXPECT_FALSE(json["found"].get<bool>());
  EXPECT_THAT(said.text, HasSubstr("b: the command: exit code 7"));
}

TEST_F(TuneHosts, WrongUseIsOneLine) {
  const struct {
    std::string command;
    int code;
    const char* says;
  } cases[] = {
      {tune("--nodes 2"), 2, "--nodes is for several hosts"},
      {tune("--hosts a --nodes 2"), 2, "--hosts names 1"},
      {tune("--hosts a,d"), 3, "d: "},
      {tune("--hosts localhost,a"), 2, "they know it by"},
      {"$OCRTUNE tune --accumulate 2 --model crnn", 2, "--accumulate is for a training over"},
      {"$OCRTUNE tune --hosts a,b --mode infer", 2, "--hosts is for the throughput"},
      {"$OCRTUNE tune --db " + folder_ + "/own.sqlite --hosts a,b --metric ips -- python3 -c 1", 2,
       "the command ignores nodes"},
  };
  for (const auto& one : cases) {
    const BedSaid said = run_in_bed({"a", "b", "d:down"}, one.command + " 2>&1");
    EXPECT_EQ(said.code, one.code) << one.command << "\n" << said.text;
    EXPECT_THAT(said.text, HasSubstr(one.says)) << one.command;
  }
}

TEST_F(TuneHosts, ABrokenLinkIsMadeAnewAndItsTrialRunOnceMore) {
  for (const std::string sign : {"KILL", "TERM"}) {
    const BedSaid said = run_in_bed(
        {"a", "b"},
        tune("--hosts a,b --nodes 2 --budget 12s --json 2>" + folder_ + "/notes", "", "1s") +
            " & pid=$!; for i in $(seq 300); do ssh b ps -e -o args | grep -q '[h]ost_job' && "
            "break; sleep 0.1; done; ssh b \"pkill -o -" +
            sign + " -f '[o]crtune node'\"; wait $pid");
    ASSERT_TRUE(answered(said.code, said.text)) << said.text;
    EXPECT_THAT(read_file(folder_ + "/notes").value_or(""), HasSubstr("note: b: ssh ended with"));
    const Json json = Json::parse(said.text, nullptr, false);
    ASSERT_TRUE(json.is_object()) << said.text;
    EXPECT_TRUE(json["found"].get<bool>()) << said.text;
    EXPECT_THAT(said.text, Not(HasSubstr("host_lost")));
  }
}

// Hosts that are machines of their own: each has its boot and its lock.
TEST_F(TuneHosts, TheSecondOfTwoLaunchersWaitsForAHostThatBothMeasure) {
  const std::string apart =
      "l=${OCRTUNE_LOCK_DIR:-/tmp}/ocrtune.lock; [ -e $l ] || install -m 666 /dev/null $l; "
      "for h in a b c; do f=" +
      folder_ +
      "/$h; cp /proc/sys/kernel/random/uuid $f.boot; touch $f.lock; ssh $h "
      "\"mount --bind $f.boot /proc/sys/kernel/random/boot_id && mount --bind $f.lock $l\" || "
      "exit 9; done; ";
  const auto second = [&](const std::string& waits) {
    return "ssh c '" + tune("--hosts c,b --nodes 2 --budget 5s --json " + waits) + "'";
  };
  const BedSaid said = run_in_bed(
      {"a", "b", "c"},
      apart + tune("--hosts a,b --nodes 2 --budget 12s --json") + " > " + folder_ +
          "/first 2>&1 & pid=$!; for i in $(seq 300); do ssh b ps -e -o args | grep -q "
          "'[h]ost_job' && break; sleep 0.1; done; " +
          second("--no-wait") + " > " + folder_ + "/refused 2>&1; echo $? > " + folder_ +
          "/refused.code; " + second("") + " > " + folder_ + "/second 2> " + folder_ +
          "/notes; code=$?; wait $pid; echo $? > " + folder_ + "/first.code; exit $code");
  const auto read = [&](const char* name) {
    return read_file(join_path(folder_, name)).value_or("");
  };
  EXPECT_EQ(read("refused.code"), "3\n") << read("refused");
  EXPECT_THAT(read("refused"), MatchesRegex(".*b: .* is measuring there; try again .*"));
  EXPECT_THAT(read("notes"), MatchesRegex(".*waiting: b: .* is measuring there.*"));
  EXPECT_TRUE(answered(said.code, read("second"))) << said.text << read("notes");
  EXPECT_THAT(read("first.code"), testing::AnyOf("0\n", "1\n")) << read("first");
}

// Somebody dies or stops in a trial over both hosts.
TEST_F(TuneHosts, WhoDiesOrStopsIsNamedAndNothingIsLeft) {
  const struct {
    const char* what;
    const char* ends;  // a command in the bed, once the job runs on b
    const char* says;
  } cases[] = {
      {"agent killed", "ssh b \"pkill -o -KILL -f '[o]crtune node'\"", "b: ssh ended with"},
      {"launcher killed",
       "pkill -KILL -P $pid -f \"^nsenter --target $(cat $(dirname $(dirname $(command -v "
       "ssh)))/b.pid) \"",
       "b: ssh ended with"},
      {"rank killed", "ssh b pkill -KILL -f '[h]ost_job'", "b: the command: killed by SIGKILL"},
      {"front end killed", "kill -KILL $pid", ""},
  };
  for (const auto& one : cases) {
    const BedSaid said = run_in_bed(
        {"a", "b"},
        tune("--hosts a,b --nodes 2 --budget 8s --json > " + folder_ + "/out 2>&1", "", "4s") +
            " & pid=$!; for i in $(seq 300); do ssh b ps -e -o args | grep -q '[h]ost_job' && "
            "break; sleep 0.1; done; sleep 1; " +
            one.ends + "; wait $pid; ssh b \"pkill -CONT -f '[o]crtune node'\"" + kNothingLeft +
            "cat " + folder_ + "/out");
    EXPECT_NE(said.code, 9) << one.what << "\n" << said.text;
    EXPECT_THAT(said.text, HasSubstr(one.says)) << one.what;
  }
}

}  // namespace
}  // namespace ocrtune
