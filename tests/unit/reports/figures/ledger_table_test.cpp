#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/figures/bottleneck.h"
#include "tests/support/sample_jobs.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

TEST(LedgerTable, ShortStepsAreInMilliseconds) {
  Bottleneck bottleneck;
  bottleneck.role = "recommended";
  bottleneck.samples_per_second = 222;
  bottleneck.step.compute_seconds = 0.288;
  const RunRecord run;
  EXPECT_THAT(ledger_table({bottleneck}, run), HasSubstr("288 ms"));
  EXPECT_THAT(ledger_table({bottleneck}, run), HasSubstr("288 毫秒"));
  bottleneck.step.compute_seconds = 2.5;
  EXPECT_THAT(ledger_table({bottleneck}, run), HasSubstr("2.5 s"));
}

TEST(LedgerTable, NamesTheRunsUnitAndWhoseSettingItIs) {
  Bottleneck bottleneck;
  bottleneck.role = "baseline";
  bottleneck.samples_per_second = 222;
  bottleneck.step.compute_seconds = 0.288;
  RunRecord run;
  run.job = command_job({"python", "train.py"});
  run.job.user()->command.log_reader = "runs";
  run.search.baseline_source = kBaselineFirst;
  const std::string table = ledger_table({bottleneck}, run);
  EXPECT_THAT(table, HasSubstr("runs/s"));
  EXPECT_THAT(table, testing::Not(HasSubstr("samples/s")));
  EXPECT_THAT(table, HasSubstr("the first setting of your lists"));
}

}  // namespace
}  // namespace ocrtune
