#include "trial/workloads/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "trial/observe/thread_runtimes.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/command/command_prepare.h"

namespace ocrtune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(Launch, ItsLineTellsNoSecret) {
  Launch launch;
  launch.arguments = {"train", "--api-key=abcd", "--token", "abcd", "a b"};
  launch.environment = {{"HF_TOKEN", "hf_abcd"}, {"MODE", "a b"}};
  launch.directory = "/no such";
  EXPECT_EQ(launch_text(launch),
            "cd '/no such' && HF_TOKEN=\"$HF_TOKEN\" MODE='a b' train '--api-key=***' --token "
            "'***' 'a b'");
  EXPECT_THAT(secrets_of(launch), Contains("abcd"));
  EXPECT_THAT(secrets_of(launch), Contains("hf_abcd"));
  EXPECT_THAT(process_options(launch).environment, Contains(Pair("HF_TOKEN", "hf_abcd")));
}

TEST(Launch, ItsLineIsOneLine) {
  Launch launch;
  launch.arguments = {"python", "-c", "import a\na.b('c')"};
  EXPECT_EQ(launch_text(launch), R"(python -c $'import a\na.b('\''c'\'')')");
}

TEST(Launch, AVariableStandsOnce) {
  CommandWorkload workload;
  workload.command = words("train {nproc}");
  workload.environment = {{"OMP_NUM_THREADS", "1"}, {"RANKS", "r{nproc}"}};
  workload.knobs = {"nproc", "threads"};
  workload.unread = unread_thread_variables({});
  Knobs knobs;
  knobs.nproc = 2;
  knobs.threads = 1;
  const auto filled = fill_for(workload, Machine(), knobs, TrialPlace());
  ASSERT_TRUE(filled);
  EXPECT_THAT(filled->launch.environment,
              ElementsAre(Pair("OMP_NUM_THREADS", "1"), Pair("RANKS", "r2")));
}

TEST(Launch, AShellsVariablesAreNoPlaceholders) {
  CommandWorkload workload;
  workload.command = {"sh", "-c", "echo ${HOME} {batch} {{batch}}"};
  const auto filled = fill_for(workload, Machine(), Knobs(), TrialPlace());
  ASSERT_TRUE(filled) << filled.error().what;
  EXPECT_EQ(filled->launch.arguments[2], "echo ${HOME} 16 {batch}");
}

TEST(ShellLines, BeginInTheFolder) {
  FilledCommand filled;
  filled.launch.arguments = {"train"};
  filled.launch.environment = {{"A", "1"}};
  filled.launch.directory = "/no/such";
  EXPECT_THAT(shell_lines(filled), ElementsAre("cd /no/such && A=1 train"));
  filled.setup = {{"mkdir", "x"}};
  filled.cleanup = {{"rmdir", "x"}};
  EXPECT_THAT(shell_lines(filled), ElementsAre("cd /no/such && mkdir x", "A=1 train", "rmdir x"));
}

}  // namespace
}  // namespace ocrtune
