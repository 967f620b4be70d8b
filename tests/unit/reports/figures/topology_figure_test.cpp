#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/figures/figures.h"
#include "tests/support/sample_runs.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(TopologyFigure, ACpuOfSeveralRanksIsNobodys) {
  const Machine machine = sample_machine();
  const std::string bound = topology_figure(machine, "0:0 1:1");
  EXPECT_THAT(bound, HasSubstr(">r0<"));
  EXPECT_THAT(bound, HasSubstr(">r1<"));
  EXPECT_THAT(bound, HasSubstr("ranks of the recommended setting"));
  const std::string shared = topology_figure(machine, "0:0-1 1:0-1");
  EXPECT_THAT(shared, Not(HasSubstr(">r0<")));
  EXPECT_THAT(shared, Not(HasSubstr("ranks of the recommended setting")));
  EXPECT_EQ(shared, topology_figure(machine, ""));
}

}  // namespace
}  // namespace ocrtune
