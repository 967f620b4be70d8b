// Which launcher is taken, and what it is given.
#include "extras/hosts/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trial/workloads/command/command_template.h"

namespace ocrtune {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

bool everything(const std::string&) { return true; }

TEST(Launcher, IsSrunWithinAnAllocationElseSshElseMpirun) {
  EXPECT_EQ(*choose_launcher("auto", {{"SLURM_JOB_ID", "7"}}, everything), Launcher::srun);
  EXPECT_EQ(*choose_launcher("auto", {}, everything), Launcher::ssh);
  const auto no_ssh = [](const std::string& name) { return name == "mpirun"; };
  EXPECT_EQ(*choose_launcher("auto", {}, no_ssh), Launcher::mpirun);
  EXPECT_EQ(*choose_launcher("mpirun", {{"SLURM_JOB_ID", "7"}}, everything), Launcher::mpirun);
}

TEST(Launcher, SaysWhatIsNotInstalled) {
  const auto nothing = [](const std::string&) { return false; };
  EXPECT_THAT(choose_launcher("auto", {}, nothing).error().what, HasSubstr("neither ssh nor"));
  EXPECT_THAT(choose_launcher("srun", {}, nothing).error().what,
              HasSubstr("'srun' is not in PATH"));
}

TEST(Launcher, StartsTheProgramOnOneHost) {
  for (const Launcher launcher : {Launcher::ssh, Launcher::mpirun, Launcher::srun}) {
    const auto command = remote_command(launcher, "n1", "/opt/my tools/ocrtune", {"node"});
    EXPECT_EQ(command.front(), launcher_name(launcher));
    EXPECT_THAT(command, Contains(HasSubstr("n1")));
    // Whatever shell the login has, it is sh that reads the script.
    const auto words = launcher == Launcher::ssh ? *split_command(command.back()) : command;
    ASSERT_GE(words.size(), 3U);
    EXPECT_EQ(words[words.size() - 3], "sh");
    EXPECT_THAT(words.back(), HasSubstr("exec '/opt/my tools/ocrtune' node"));
  }
}

}  // namespace
}  // namespace ocrtune
