#include "cli/tune/reading_engines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sample_jobs.h"
#include "trial/workloads/engine_infer/framework_table.h"

namespace ocrtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ReadingEngines, AnEngineIsOneBackendOrSeveral) {
  EXPECT_THAT(*backends_of_engines("ocrtune,openvino"), ElementsAre("onednn", "openvino"));
  EXPECT_THAT(*backends_of_engines("paddle"), ElementsAre("paddle", "paddle-onednn"));
  EXPECT_THAT(*backends_of_engines("paddle-onednn"), ElementsAre("paddle-onednn"));
  EXPECT_THAT(*backends_of_engines("onnxruntime+no-arena+parallel"),
              ElementsAre("onnxruntime+no-arena+parallel"));
  EXPECT_THAT(*backends_of_engines("openvino+all"),
              ElementsAre("openvino", "openvino+streams-2", "openvino+streams-4",
                          "openvino+streams-8", "openvino+pinned"));
  EXPECT_THAT(*backends_of_engines("paddle+all"), ElementsAre("paddle", "paddle-onednn"));
  EXPECT_THAT(backends_of_engines("onnxruntime,torch").error().what,
              HasSubstr("--engine torch: not one of ocrtune"));
}

TEST(ReadingEngines, OfAnotherWorkloadAreRefused) {
  TuneFlags flags;
  flags.job = reading_job();
  flags.typed.engine = "openvino";
  EXPECT_THAT(choose_engines(flags).error().what, HasSubstr("--model FILE.onnx"));
  flags.job = service_job("http://127.0.0.1:1/");
  EXPECT_THAT(choose_engines(flags).error().what, HasSubstr("server of yours"));
  // The built-in engine alone needs nothing.
  flags.job = reading_job();
  flags.typed.engine = kBuiltInEngine;
  EXPECT_TRUE(choose_engines(flags).ok());
  EXPECT_TRUE(flags.search.axes.empty());
}

TEST(ReadingEngines, OptionsAreTheFrameworksOwn) {
  EXPECT_TRUE(check_framework_options("onednn"));
  EXPECT_TRUE(check_framework_options("onnxruntime"));
  EXPECT_TRUE(check_framework_options("onnxruntime+no-spin+graph-basic"));
  EXPECT_EQ(check_framework_options("openvino+fast").error().what,
            "openvino+fast: its options are streams-2, streams-4, streams-8, pinned");
  EXPECT_EQ(check_framework_options("paddle+").error().what, "paddle+: it has no options");
}

TEST(ReadingEngines, PrecisionsAreTheFrameworksOwn) {
  EXPECT_EQ(find_framework("onednn"), nullptr);
  EXPECT_EQ(find_framework("openvino+pinned"), find_framework("openvino"));
  EXPECT_TRUE(computes_in(*find_framework("openvino"), "bf16"));
  EXPECT_FALSE(computes_in(*find_framework("onnxruntime"), "bf16"));
  EXPECT_EQ(int8_file("models/rec.onnx"), "models/rec.int8.onnx");
}

}  // namespace
}  // namespace ocrtune
