// ocrtune probe --hosts in a test bed of several hosts.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "tests/support/host_bed.h"
#include "tests/support/schema_text.h"

namespace ocrtune {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using Json = nlohmann::json;

#define NEED_BED() \
  if (const std::string why = no_bed(); !why.empty()) GTEST_SKIP() << why

std::vector<std::string> values_of(const Json& list, const char* key) {
  std::vector<std::string> all;
  for (const Json& one : list) all.push_back(one.at(key));
  return all;
}

TEST(ProbeHosts, NamesWhoIsDownWhatDiffersAndWhatIsWrong) {
  NEED_BED();
  const BedSaid said = run_in_bed({"a", "b:shm=16m", "c:loopback", "d:down"},
                                  "$OCRTUNE probe --hosts a,b:2,c,d --quick --json 2>/dev/null");
  EXPECT_EQ(said.code, 1) << said.text;
  const Json json = Json::parse(said.text, nullptr, false);
  ASSERT_TRUE(json.is_object()) << said.text;
  EXPECT_EQ(schema_fault("probe-hosts", json), "");
  EXPECT_EQ(json["launcher"], "ssh");
  EXPECT_THAT(values_of(json["hosts"], "host"), testing::ElementsAre("a", "b", "c"));
  ASSERT_THAT(values_of(json["lost"], "host"), testing::ElementsAre("d"));
  EXPECT_THAT(json["lost"][0]["reason"], HasSubstr("No route to host"));
  ASSERT_THAT(values_of(json["differences"], "key"), Contains("host.shm"));
  for (const Json& difference : json["differences"]) {
    if (difference["key"] == "host.shm") {
      EXPECT_EQ(difference["values"]["b"], "16.0 MiB");
    }
  }
  bool loopback = false;
  for (const Json& finding : json["findings"]) {
    loopback = loopback || (finding["host"] == "c" && finding["kind"] == "own_name");
  }
  EXPECT_TRUE(loopback) << json["findings"].dump();
}

TEST(ProbeHosts, WorksThroughMpirunAndWithAHostfile) {
  NEED_BED();
  if (!find_executable("mpirun")) GTEST_SKIP() << "no mpirun here";
  const auto folder = make_temporary_directory("hosts-test");
  ASSERT_TRUE(folder && write_file(*folder + "/hostfile", "a slots=2\nb slots=2\n"));
  const BedSaid said =
      run_in_bed({"a", "b"}, "RANK=0 $OCRTUNE probe --launcher mpirun --quick --hosts " + *folder +
                                 "/hostfile");
  EXPECT_EQ(said.code, 0) << said.text;
  EXPECT_THAT(said.text, HasSubstr("2 of 2 hosts answered by mpirun"));
  EXPECT_THAT(said.text, HasSubstr("eth0 10.77.0.2"));
  EXPECT_THAT(said.text, HasSubstr("No differences"));  // an agent's rank is its launcher's
  EXPECT_TRUE(remove_tree(*folder));
}

// Puts a script in the place of ocrtune, on host b alone.
std::string on_b(const std::string& folder, const std::string& script) {
  EXPECT_TRUE(write_file(folder + "/fake", "#!/bin/sh\n" + script));
  return "chmod +x " + folder + "/fake; ssh b mount --bind " + folder + "/fake $OCRTUNE; ";
}

TEST(ProbeHosts, AnotherVersionAStoppedAgentAndNoProgramAreNamed) {
  NEED_BED();
  const auto folder = make_temporary_directory("hosts-test");
  ASSERT_TRUE(folder);
  const struct {
    const char* fake;
    const char* says;
  } cases[] = {
      {"echo '{\"event\": \"hello\", \"version\": \"0.0.9\", \"protocol\": 4}'; sleep 60\n",
       "b: runs ocrtune 0.0.9, this is "},
      {"echo '{\"event\": \"hello\", \"version\": \"'$(\"$OCRTUNE_REAL\" --version | awk 'NR == 1 "
       "{print $2}')'\", \"protocol\": 4}'; kill -STOP $$\n",
       "b: no answer within 3.0 s"},
      {"echo 'ocrtune: no command node' >&2; exit 2\n", "ended with exit code 2: ocrtune: no"},
      {"sleep 60\n", "b: no answer within 3.0 s of its start"},
  };
  for (const auto& one : cases) {
    // The stand-in asks a copy for the version that this build has.
    std::string fake = one.fake;
    const std::string real = *folder + "/real";
    if (const auto at = fake.find("$OCRTUNE_REAL"); at != std::string::npos) {
      fake.replace(at, std::string("$OCRTUNE_REAL").size(), real);
    }
    const BedSaid said =
        run_in_bed({"a", "b"}, "cp $OCRTUNE " + real + "; cp $OCRTUNE-engine " + *folder + "; " +
                                   on_b(*folder, fake) +
                                   "$OCRTUNE probe --hosts a,b --quick --deadline 3s; code=$?; "
                                   "ssh b ps -e; exit $code");
    EXPECT_EQ(said.code, 1) << said.text;
    EXPECT_THAT(said.text, HasSubstr(one.says));
    EXPECT_THAT(said.text, HasSubstr("1 of 2 hosts answered"));
  }
  EXPECT_TRUE(remove_tree(*folder));
}

// Host b is slow by a stand-in for its rates: CPU time is not to be had in a test.
TEST(ProbeHosts, NamesTheSlowHostTheSlowLinkAndTheInterface) {
  NEED_BED();
  const auto folder = make_temporary_directory("hosts-test");
  ASSERT_TRUE(folder);
  const std::string real = *folder + "/real";
  const std::string fake =
      real + " node | sed -u 's/\"rates\":.[^]]*]/\"rates\":[0.2,0.2,0.2,0.2,0.2]/'\n";
  const BedSaid said =
      run_in_bed({"a:docker0", "b:out=20mbit", "c:docker0"},
                 "cp $OCRTUNE " + real + "; cp $OCRTUNE-engine " + *folder + "; " +
                     on_b(*folder, fake) + "$OCRTUNE probe --hosts a,b,c --json 2>/dev/null");
  EXPECT_EQ(said.code, 0) << said.text;
  const Json json = Json::parse(said.text, nullptr, false);
  ASSERT_TRUE(json.is_object()) << said.text;
  std::vector<std::string> findings;
  for (const Json& one : json["findings"]) {
    findings.push_back(one["host"].get<std::string>() + " " + one["kind"].get<std::string>());
  }
  EXPECT_THAT(findings, IsSupersetOf({"b slow_host", "b slow_link", " duplicate_address"}));
  EXPECT_THAT(json["links"], testing::SizeIs(6));
  for (const Json& link : json["links"]) {
    EXPECT_EQ(link["error"], "");
    EXPECT_GT(link["latency_seconds"], 0);
    if (link["from"] == "b") {
      EXPECT_LT(link["bytes_per_second"], 30e6 / 8);
    }
  }
  EXPECT_EQ(json["recommended_network"]["env"]["c"]["NCCL_SOCKET_IFNAME"], "eth0");
  EXPECT_TRUE(remove_tree(*folder));
}

TEST(ProbeHosts, AHostBehindAFirewallIsNamedAndTheRestMeasured) {
  NEED_BED();
  // The launcher's ssh needs no network here, so b's can be cut off.
  const BedSaid said =
      run_in_bed({"a", "b"},
                 "ssh b ip link set eth0 mtu 1500; ssh b ip route add unreachable 10.77.0.1/32; "
                 "$OCRTUNE probe --hosts a,b 2>&1");
  EXPECT_EQ(said.code, 1) << said.text;
  EXPECT_THAT(said.text, HasSubstr("b: cannot reach a at 10.77.0.1"));
  EXPECT_THAT(said.text, HasSubstr("no network joins all hosts"));
}

TEST(CheckHosts, ComparesTheFilesOfEachHost) {
  NEED_BED();
  const auto folder = make_temporary_directory("hosts-test");
  ASSERT_TRUE(folder);
  const std::string config = *folder + "/rec.yml", other = *folder + "/other.yml";
  const std::string text =
      "Global: {character_dict_path: " + *folder + "/dict.txt}\nOptimizer: {lr: ";
  ASSERT_TRUE(write_file(config, text + "0.001}\n") && write_file(other, text + "0.002}\n") &&
              write_file(*folder + "/dict.txt", "a\nb\n") &&
              write_file(*folder + "/dict2.txt", "a\nc\n"));
  const std::string check = "$OCRTUNE check --hosts a,b " + config;
  const BedSaid same = run_in_bed({"a", "b"}, check);
  EXPECT_EQ(same.code, 0) << same.text;
  EXPECT_THAT(same.text, HasSubstr("Consistent: 2 configurations"));
  const BedSaid differ =
      run_in_bed({"a", "b"}, "ssh b 'mount --bind " + other + " " + config + "; mount --bind " +
                                 *folder + "/dict2.txt " + *folder + "/dict.txt'; " + check);
  EXPECT_EQ(differ.code, 1) << differ.text;
  EXPECT_THAT(differ.text, HasSubstr("Optimizer.lr\n  a: 0.001\n  b: 0.002"));
  EXPECT_THAT(differ.text, HasSubstr("Global.character_dict_path"));
  EXPECT_EQ(run_in_bed({"a", "d:down"}, "$OCRTUNE check --hosts a,d " + config).code, 3);
  EXPECT_EQ(run_in_bed({"a", "b"}, "$OCRTUNE check --hosts a,b /nowhere.yml").code, 3);
  EXPECT_TRUE(remove_tree(*folder));
}

TEST(ProbeHosts, LeavesNoAgentAfterCtrlCOrKill) {
  NEED_BED();
  for (const char* signal : {"INT", "KILL"}) {
    const BedSaid said = run_in_bed(
        {"a", "b"},
        std::string("$OCRTUNE probe --hosts b --json >/dev/null & pid=$!; "
                    "for i in $(seq 100); do ssh b ps -e | grep -q ocrtune && break; "
                    "sleep 0.1; done; kill -") +
            signal +
            " $pid; wait $pid; echo ended with $?; "
            "for i in $(seq 100); do ssh b ps -e | grep -q ocrtune || exit 0; sleep 0.1; "
            "done; ssh b ps -ef; exit 9");
    EXPECT_EQ(said.code, 0) << said.text;
    EXPECT_THAT(said.text, HasSubstr(std::string(signal) == "INT" ? "with 130" : "with 137"));
  }
}

TEST(ProbeHosts, WrongUseIsOneLine) {
  NEED_BED();
  const struct {
    const char* flags;
    int code;
    const char* says;
    const char* path = "/usr/bin:/bin";
  } cases[] = {
      {"--hosts", 2, "no allocation of Slurm or PBS here"},
      {"--hosts a,-x", 2, "'-x' is no name of a host"},
      {"--hosts ./none", 3, "no such hostfile"},
      {"--hosts a --launcher srun", 3, "'srun' is not in PATH", "/nowhere"},
      {"--hosts a --launcher pdsh", 2, "--launcher"},
      {"--hosts a --host-timeout soon", 2, "--host-timeout"},
      {"--hosts a --root /", 2, "leave --root"},
  };
  for (const auto& one : cases) {
    const BedSaid said =
        run_in_bed({"a"}, std::string("PATH=") + one.path + " $OCRTUNE probe " + one.flags);
    EXPECT_EQ(said.code, one.code) << one.flags;
    EXPECT_THAT(said.text, HasSubstr(one.says)) << one.flags;
  }
}

}  // namespace
}  // namespace ocrtune
