// The command of a training in Paddle, and what it cannot train. Whether Paddle runs it is seen by
// bench/clients/transfer.py, which needs Paddle.
#include "trial/workloads/engine_paddle/paddle_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "core/models/model.h"

namespace ocrtune {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(PaddleTraining, EveryModelHasItsLayers) {
  for (const ModelRow& row : model_table()) {
    TrainingWorkload workload;
    workload.model = row.name;
    const auto command = training_in_paddle(workload, "python3");
    ASSERT_TRUE(command) << command.error().what;
    const std::string& network = command->at(6);
    EXPECT_THAT(network, EndsWith(std::string(row.name) + ".json"));
    const auto graph = nlohmann::json::parse(*read_file(network));
    EXPECT_EQ(graph["layers"].size(), row.build(97).layers.size());
    // The script gives this layer as many classes as the lines have.
    EXPECT_EQ(graph["layers"].back()["op"], "linear");
    EXPECT_EQ(graph["layers"].back()["output"], graph["output"]);
  }
}

TEST(PaddleTraining, LoaderWorkersOnlyWhereLinesAreRead) {
  TrainingWorkload workload;
  EXPECT_THAT(*training_in_paddle(workload, "python3"), Not(Contains("--workers={workers}")));
  workload.label_file = "/lines/labels.txt";
  const auto command = *training_in_paddle(workload, "python3");
  EXPECT_THAT(command, Contains("--workers={workers}"));
  EXPECT_THAT(command, Contains("--lines=/lines/labels.txt"));
}

TEST(PaddleTraining, StartsFromASeedByARateThatALargerBatchMayRaise) {
  const auto command = *training_in_paddle(TrainingWorkload(), "python3");
  EXPECT_THAT(command, Contains("--seed={seed}"));
  EXPECT_THAT(command, Contains("--rate-factor={rate_factor}"));
}

TEST(PaddleTraining, NamesWhatItCannotTrain) {
  TrainingWorkload workload;
  workload.heights = {32, 48};
  EXPECT_THAT(training_in_paddle(workload, "python3").error().what, HasSubstr("--heights"));
  workload.heights.clear();
  workload.width_buckets = 4;
  EXPECT_THAT(training_in_paddle(workload, "python3").error().what, HasSubstr("--width-buckets"));
  workload.width_buckets = 0;
  workload.label_file = "/lines/data.mdb";
  EXPECT_THAT(training_in_paddle(workload, "python3").error().what, HasSubstr("LMDB"));
  workload.label_file.clear();
  workload.model = "lenet";
  EXPECT_THAT(training_in_paddle(workload, "python3").error().what, HasSubstr("no model lenet"));
}

}  // namespace
}  // namespace ocrtune
