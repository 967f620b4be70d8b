// `ocrtune tune -- COMMAND` on two GPUs out of a text file, of which the command uses one.
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "cli/commands.h"
#include "tests/support/ran.h"

namespace ocrtune {
namespace {

class GpuPlacesOfACommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("gpu_places");
    const auto box =
        read_file(std::string(OCRTUNE_SOURCE_DIR) + "/tests/fixtures/gpu_boxes/2x4090.txt");
    ASSERT_TRUE(box);
    box_ = join_path(folder_, "box.txt");
    ASSERT_TRUE(write_file(box_, *box));
    // Two processes that are entered into the driver's books, on the GPUs that $1 and $2 name.
    ASSERT_TRUE(write_file(join_path(folder_, "client.sh"), R"(
sleep 60 & first=$!
sleep 60 & second=$!
trap 'kill $first $second' EXIT
trap 'exit 143' TERM
if [ $1 = $2 ]; then
  sed "s/uuid=GPU-4090-$1 /&pid=$first,$second /" $OCRTUNE_NVML_STUB.as_it_was >$OCRTUNE_NVML_STUB.new
else
  sed "s/uuid=GPU-4090-$1 /&pid=$first /; s/uuid=GPU-4090-$2 /&pid=$second /" \
    $OCRTUNE_NVML_STUB.as_it_was >$OCRTUNE_NVML_STUB.new
fi
mv $OCRTUNE_NVML_STUB.new $OCRTUNE_NVML_STUB
while :; do echo "loss 1.5 80.0 samples/s"; sleep 0.05; done
)"));
    ASSERT_TRUE(write_file(box_ + ".as_it_was", *box));
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }

  std::string tune(const std::string& gpus) const {
    return ocrtune("tune --batch 8 --log-reader torch --budget 12s --trial-time 2s --db " +
                   join_path(folder_, "runs.sqlite") + " -- sh " + join_path(folder_, "client.sh") +
                   " " + gpus + " {batch}");
  }
  std::string ocrtune(const std::string& arguments) const {
    return run_line("OCRTUNE_NVML_PATH=" + std::string(OCRTUNE_NVML_STUB_LIBRARY) +
                    " OCRTUNE_NVML_STUB=" + box_ + " " + OCRTUNE_BINARY + " " + arguments + " 2>&1")
        .out;
  }

  std::string folder_, box_;
};

TEST_F(GpuPlacesOfACommand, OneThatIdlesIsNamed) {
  const std::string out = tune("0 0");
  EXPECT_NE(out.find("GPUs without work: 1, while 2 processes ran on the others"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("rank-exec --gpu auto"), std::string::npos) << out;
}

TEST_F(GpuPlacesOfACommand, ARunIsWarned) {
  if (find_command("run") == nullptr) GTEST_SKIP() << "a build without the extra supervise";
  const std::string out = ocrtune("run --run-dir " + join_path(folder_, "run") +
                                  " -- timeout 6 sh " + join_path(folder_, "client.sh") + " 0 0");
  EXPECT_NE(out.find("warning: GPUs without work: 1 while 2 processes"), std::string::npos) << out;
}

TEST_F(GpuPlacesOfACommand, NoWordWhereAllWork) {
  const std::string out = tune("0 1");
  EXPECT_TRUE(out.find("\nlaunch ") != std::string::npos ||
              out.find("\nleading ") != std::string::npos)
      << out;
  EXPECT_EQ(out.find("GPUs without work"), std::string::npos) << out;
}

}  // namespace
}  // namespace ocrtune
