#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "probes/machine_gpus.h"

namespace ocrtune {
namespace {

TEST(Mps, TheDaemonsPidFileTells) {
  const std::string root = make_temporary_directory("mps").value();
  EXPECT_FALSE(read_mps(FileRoot(root), {}).on);
  EXPECT_EQ(read_mps(FileRoot(root), {}).source, "/tmp/nvidia-mps/nvidia-cuda-mps-control.pid");
  ASSERT_TRUE(make_directories(join_path(root, "run/mps")));
  ASSERT_TRUE(write_file(join_path(root, "run/mps/nvidia-cuda-mps-control.pid"), "17"));
  EXPECT_FALSE(read_mps(FileRoot(root), {}).on) << "clients look elsewhere";
  EXPECT_TRUE(read_mps(FileRoot(root), {{"CUDA_MPS_PIPE_DIRECTORY", "/run/mps"}}).on);
  ASSERT_TRUE(remove_tree(root));
}

}  // namespace
}  // namespace ocrtune
