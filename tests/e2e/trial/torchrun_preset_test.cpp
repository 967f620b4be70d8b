// presets/torchrun.toml as it is shipped, over launchers of two ages.
#include <sys/stat.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/command/command_prepare.h"
#include "trial/workloads/command/preset_apply.h"

namespace ocrtune {
namespace {

using testing::ElementsAre;

class TorchrunPreset : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = make_temporary_directory("torchrun").value();
    program("numactl", "exit 0");
    path_ = std::getenv("PATH");
    ::setenv("PATH", (folder_ + ":" + path_).c_str(), 1);
    machine_.gpus.resize(2);
    machine_.cpu.numa_nodes = 2;
  }
  void TearDown() override {
    ::setenv("PATH", path_.c_str(), 1);
    EXPECT_TRUE(remove_tree(folder_));
  }
  void program(const std::string& name, const std::string& script) const {
    ASSERT_TRUE(write_file(join_path(folder_, name), "#!/bin/sh\n" + script + "\n"));
    ASSERT_EQ(::chmod(join_path(folder_, name).c_str(), 0755), 0);
  }
  PreparedCommand prepared(const std::vector<std::string>& knobs = {}) const {
    const std::string path = OCRTUNE_SOURCE_DIR + "/presets/torchrun.toml";
    const PresetFile preset = parse_preset(read_file(path).value(), path).value();
    PreparedCommand command;
    command.workload.command = {join_path(folder_, "torchrun"), "train.py"};
    command.workload.knobs = knobs;
    EXPECT_TRUE(apply_preset_file(command, preset, machine_).ok());
    return command;
  }

  std::string folder_, path_;
  Machine machine_;
};

TEST_F(TorchrunPreset, NumaBindingIsOfferedWhereTheLauncherHasIt) {
  program("torchrun", "echo '[--nproc-per-node N] [--numa-binding {node,socket,exclusive}]'");
  ASSERT_EQ(prepared().offered.size(), 1U);
  EXPECT_EQ(prepared().offered[0].name, "numa_binding");
  EXPECT_THAT(prepared().offered[0].values, ElementsAre("none", "node", "exclusive"));
  program("torchrun", "echo '[--nproc-per-node N]'");  // before PyTorch 2.9
  EXPECT_TRUE(prepared().offered.empty());
  program("torchrun", "exit 1");
  EXPECT_TRUE(prepared().offered.empty());
  machine_.cpu.numa_nodes = 1;
  program("torchrun", "echo --numa-binding");
  EXPECT_TRUE(prepared().offered.empty());
}

TEST_F(TorchrunPreset, NumaBindingIsAFlagOfTheLauncherOrNone) {
  const PreparedCommand command = prepared({"numa_binding"});
  const auto line = [&](const char* value) {
    return fill_for(launch_workload(command), machine_, *parse_knobs({value}), {"/trial", 1})
        ->launch.arguments;
  };
  const std::string torchrun = join_path(folder_, "torchrun");
  EXPECT_THAT(line("numa_binding=exclusive"),
              ElementsAre(torchrun, "--numa-binding=exclusive", "train.py"));
  EXPECT_THAT(line("numa_binding=none"), ElementsAre(torchrun, "train.py"));
}

}  // namespace
}  // namespace ocrtune
