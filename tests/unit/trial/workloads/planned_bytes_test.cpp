#include "trial/workloads/planned_bytes.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

TEST(PlannedBytes, AJobIsPlannedOnceInAProcess) {
  const std::string folder = *make_temporary_directory("planned_bytes_test");
  const std::string model = join_path(folder, "model.onnx");
  ASSERT_TRUE(write_file(model, "one"));
  int planned = 0;
  const auto bytes = [&](const std::string& job) {
    return planned_once(job, model, [&planned](const Knobs&) { return std::uint64_t(++planned); })
        ->of(Knobs());
  };
  EXPECT_EQ(bytes("read 10 in the test"), 1);
  EXPECT_EQ(bytes("read 10 in the test"), 1) << "another workload of the same job";
  EXPECT_EQ(bytes("read 11 in the test"), 2);
  ASSERT_TRUE(write_file(model, "another"));
  EXPECT_EQ(bytes("read 10 in the test"), 3) << "the file has changed";
  EXPECT_TRUE(remove_tree(folder));
}

}  // namespace
}  // namespace ocrtune
