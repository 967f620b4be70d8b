// Names of hosts as users and batch systems write them.
#include "extras/hosts/host_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string text_of(const Result<std::vector<HostName>>& hosts) {
  if (!hosts) return "error: " + hosts.error().what;
  std::string text;
  for (const HostName& host : *hosts) text += host.name + "=" + std::to_string(host.slots) + " ";
  return text;
}

TEST(HostList, TakesNamesWithSlotsAndAddsUpThoseNamedTwice) {
  EXPECT_EQ(text_of(parse_host_list("a:2,b:2")), "a=2 b=2 ");
  EXPECT_EQ(text_of(parse_host_list("a, root@10.0.0.7:4,a")), "a=2 root@10.0.0.7=4 ");
}

TEST(HostList, RefusesWhatALauncherWouldTakeForSomethingElse) {
  for (const char* list : {"", "a,,b", "-oProxyCommand=x", "a b", "a;id", "a:0", "a:x", "a:"}) {
    EXPECT_THAT(text_of(parse_host_list(list)), HasSubstr("error: --hosts: ")) << list;
  }
}

TEST(Hostfile, ReadsTheFormsOfOpenMpiDeepSpeedMpichAndPbs) {
  const char* text =
      "# two kinds\n"
      "worker-1 slots=4\n"
      "worker-2 slots=2 max_slots=8   # half of it\n"
      "\n"
      "worker-3:6\n"
      "plain\n"
      "plain\r\n";
  EXPECT_EQ(text_of(parse_hostfile(text, "hosts")), "worker-1=4 worker-2=2 worker-3=6 plain=2 ");
}

TEST(Hostfile, NamesTheLineThatIsWrong) {
  EXPECT_THAT(text_of(parse_hostfile("a\nb slots=none\n", "hosts")),
              testing::StartsWith("error: hosts:2: b: 'none'"));
  EXPECT_EQ(text_of(parse_hostfile("# nobody\n", "hosts")), "error: hosts: names no host");
}

TEST(NodeList, IsExpandedAsSlurmWritesIt) {
  EXPECT_THAT(*expand_node_list("n7"), ElementsAre("n7"));
  EXPECT_THAT(*expand_node_list("n[01-03,7],login"),
              ElementsAre("n01", "n02", "n03", "n7", "login"));
  EXPECT_THAT(*expand_node_list("rack[1-2]-n[09-10]-ib"),
              ElementsAre("rack1-n09-ib", "rack1-n10-ib", "rack2-n09-ib", "rack2-n10-ib"));
  EXPECT_THAT(*expand_node_list("a[8-11]"), ElementsAre("a8", "a9", "a10", "a11"));
}

TEST(NodeList, RefusesWhatIsNone) {
  for (const char* list : {"", "n[1-", "n1]", "n[3-1]", "n[a-b]", "n[[1]]", "n[0-99999999]"}) {
    EXPECT_FALSE(expand_node_list(list).ok()) << list;
  }
  // A kilobyte that would be gigabytes of names.
  std::string many = "n[1-65536]";
  for (int i = 0; i < 80; ++i) many += ",n[1-65536]";
  EXPECT_EQ(expand_node_list(many).error().what, "node list: more than 65536 names");
  const std::string longest(254, 'n');
  EXPECT_FALSE(expand_node_list("n[1-65536]" + longest).ok());
  EXPECT_FALSE(expand_node_list("n[1-65536]," + longest + "[1-9]").ok());
}

TEST(Hosts, ComeFromTheAllocationWhenNoneAreNamed) {
  EXPECT_EQ(text_of(resolve_hosts("", {{"SLURM_JOB_NODELIST", "n[1-2]"}})), "n1=1 n2=1 ");
  EXPECT_THAT(text_of(resolve_hosts("", {})), HasSubstr("no allocation of Slurm or PBS here"));
  EXPECT_THAT(text_of(resolve_hosts("./no-such-file", {})), HasSubstr("no such hostfile"));
}

}  // namespace
}  // namespace ocrtune
