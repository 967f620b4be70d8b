#include "reports/figures/ledger_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

TEST(LedgerTable, ShortStepsAreInMilliseconds) {
  Bottleneck bottleneck;
  bottleneck.role = "recommended";
  bottleneck.samples_per_second = 222;
  bottleneck.step.compute_seconds = 0.288;
  EXPECT_THAT(ledger_table({bottleneck}), HasSubstr("288 ms"));
  EXPECT_THAT(ledger_table({bottleneck}), HasSubstr("288 毫秒"));
  bottleneck.step.compute_seconds = 2.5;
  EXPECT_THAT(ledger_table({bottleneck}), HasSubstr("2.5 s"));
}

}  // namespace
}  // namespace ocrtune
