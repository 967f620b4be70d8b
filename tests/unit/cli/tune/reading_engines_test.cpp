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

TEST(ReadingEngines, PrecisionsAreTheFrameworksOwn) {
  EXPECT_EQ(find_framework("onednn"), nullptr);
  EXPECT_TRUE(computes_in(*find_framework("openvino"), "bf16"));
  EXPECT_FALSE(computes_in(*find_framework("onnxruntime"), "bf16"));
}

}  // namespace
}  // namespace ocrtune
