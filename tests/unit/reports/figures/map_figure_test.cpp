#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/figures/figures.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Knobs setting(int nproc, const char* binding) {
  Knobs knobs;
  knobs.nproc = nproc;
  knobs.batch = 8;
  knobs.binding = binding;
  return knobs;
}

RunRecord run_with_a_guess(Interval guess) {
  RunRecord run;
  SettingSummary measured;
  measured.knobs = setting(1, "none");
  measured.samples_per_second = {200, 190, 210};
  SettingSummary refused;
  refused.knobs = setting(4, "compact");
  refused.outcome = Outcome::unsupported;
  run.result.settings = {measured, refused};
  PredictedSetting other;
  other.knobs = setting(4, "none");
  other.samples_per_second = guess;
  run.result.predicted = {other};
  return run;
}

TEST(MapFigure, AVagueGuessHasNoNumber) {
  EXPECT_THAT(map_figure(run_with_a_guess({357, 300, 420})), HasSubstr(">~357.0<"));
  EXPECT_THAT(map_figure(run_with_a_guess({357, 43, 2953})), Not(HasSubstr("357.0<")));
}

// A prediction above all that was measured must not look like the best.
TEST(MapFigure, OnlyMeasuredCellsHaveColour) {
  const std::string map = map_figure(run_with_a_guess({357, 300, 420}));
  EXPECT_THAT(map, HasSubstr("class=\"cell outline\"><title>nproc=4 threads=1 batch=8: ~357"));
  EXPECT_THAT(map, HasSubstr("from 200.0 to 200.0 samples/s"))
      << "the scale is of what was measured";
}

TEST(MapFigure, ACellFailsOnlyWithAllOfItsSettings) {
  RunRecord run = run_with_a_guess({357, 300, 420});
  EXPECT_THAT(map_figure(run), Not(HasSubstr("not possible here")));
  run.result.predicted[0].admitted = false;
  EXPECT_THAT(map_figure(run), HasSubstr("not possible here"));
}

TEST(MapFigure, ACommandWithoutABatchHasNoMapByBatch) {
  RunRecord run = run_with_a_guess({357, 300, 420});
  EXPECT_NE(map_figure(run), "");
  run.search.baseline.absent = {"batch"};
  EXPECT_EQ(map_figure(run), "");
}

}  // namespace
}  // namespace ocrtune
