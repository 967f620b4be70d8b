#include "tuner/verdict/explain.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(InertReason, ALauncherThatSetTheThreadsIsNamed) {
  InertKnob knob;
  knob.name = "threads";
  knob.rate = {1, 0.99, 1.01};
  knob.busy_threads = 1;
  EXPECT_TRUE(inert_reason(knob).is(ReasonCode::inert_one_thread));
  knob.launcher_set = {{"OMP_NUM_THREADS", "1"}};
  EXPECT_TRUE(inert_reason(knob).is(ReasonCode::inert_by_launcher));
  EXPECT_EQ(inert_reason(knob).text(3), "OMP_NUM_THREADS=1");
  knob.name = "workers";
  EXPECT_FALSE(inert_reason(knob).is(ReasonCode::inert_by_launcher));
}

}  // namespace
}  // namespace ocrtune
