#include "probes/gpu/cuda_libraries.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"

namespace ocrtune {
namespace {

class CudaLibraries : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = make_temporary_directory("cuda");
    ASSERT_TRUE(made);
    root_ = *made;
  }
  void TearDown() override { static_cast<void>(remove_tree(root_)); }
  std::string library(const std::string& folder, const std::string& name) {
    const std::string place = join_path(root_, folder);
    EXPECT_TRUE(make_directories(place));
    EXPECT_TRUE(write_file(join_path(place, name), ""));
    return place;
  }
  std::string root_;
};

TEST_F(CudaLibraries, OfAPythonEnvironment) {
  const std::string packages = "lib/python3.11/site-packages/";
  const auto blas = library(packages + "nvidia/cu13/lib", "libcublas.so.13");
  const auto dnn = library(packages + "nvidia/cudnn/lib", "libcudnn.so.9");
  const auto nccl = library(packages + "nvidia/nccl/lib", "libnccl.so.2");
  library(packages + "nvidia/curand/lib", "libcurand.so.10");
  const std::vector<std::string> all = {blas, dnn, nccl};
  EXPECT_EQ(cuda_library_folders(root_), all);
  EXPECT_EQ(cuda_library_folders(join_path(root_, packages)), all);
  EXPECT_EQ(cuda_library_folders(join_path(root_, packages + "nvidia")), all);
}

TEST_F(CudaLibraries, OfAnInstallation) {
  const auto blas = library("lib64", "libcublas.so.12");
  library("lib", "libother.so");
  EXPECT_EQ(cuda_library_path(root_, "/was"), blas + ":/was");
}

TEST_F(CudaLibraries, NothingThere) {
  EXPECT_EQ(cuda_library_path(root_, "/was:/more"), "/was:/more");
  EXPECT_EQ(cuda_library_path(root_ + "/none", ""), "");
  EXPECT_EQ(cuda_library_path("", ""), "");
}

}  // namespace
}  // namespace ocrtune
