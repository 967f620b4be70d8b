#include "trial/observe/gpu_memory_use.h"

#include <unistd.h>

#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

// In a process of its own: the stub reads its file once, and is never unloaded.
class MemoryBooks : public testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("books"); }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }
  void box(const std::string& text) {
    const std::string path = join_path(folder_, "box.txt");
    ASSERT_TRUE(write_file(path, text));
    ::setenv("OCRTUNE_NVML_STUB", path.c_str(), 1);
  }
  std::string folder_;
};

TEST_F(MemoryBooks, TellThisProcessFromTheRest) {
  box(
      fmt::format("gpu uuid=GPU-a memory=8000 used=500\n"
                  "gpu uuid=GPU-b memory=8000 used=700 pid={} pid_used=650\n",
                  ::getpid()));
  const GpuMemoryUse mine("GPU-b", OCRTUNE_NVML_STUB_LIBRARY);
  EXPECT_EQ(mine.of_process(::getpid()), 650u);
  EXPECT_EQ(mine.of_process(1), std::nullopt);
  EXPECT_EQ(mine.of_all(), 700u);
  const GpuMemoryUse other("GPU-a", OCRTUNE_NVML_STUB_LIBRARY);
  EXPECT_EQ(other.of_process(::getpid()), std::nullopt);
  EXPECT_EQ(other.of_all(), 500u);
  const GpuMemoryUse none("GPU-c", OCRTUNE_NVML_STUB_LIBRARY);
  EXPECT_EQ(none.of_all(), std::nullopt);
}

TEST_F(MemoryBooks, WithoutALibraryNothingIsKnown) {
  const GpuMemoryUse none("GPU-a", "/no/such/libnvidia-ml.so.1");
  EXPECT_EQ(none.of_process(::getpid()), std::nullopt);
  EXPECT_EQ(none.of_all(), std::nullopt);
}

}  // namespace
}  // namespace ocrtune
