#include "cli/shell/trial_table.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/catalogue/plain_text.h"

namespace ocrtune {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

Trial trial_of(int nproc, double rate, std::uint64_t bytes = 0) {
  Trial trial;
  trial.outcome = Outcome::ok;
  trial.knobs.nproc = nproc;
  trial.samples_per_second = rate;
  trial.peak_bytes = bytes;
  return trial;
}

Knobs start() { return trial_of(1, 0).knobs; }

TEST(TrialTable, SortsByRateAndComparesWithTheStart) {
  TrialTable table(start(), "samples/s");
  table.add(trial_of(1, 118));
  EXPECT_TRUE(table.rows(8, 120).empty()) << "nothing to compare yet";
  table.add(trial_of(2, 220, 918ULL << 20));
  table.add(trial_of(2, 236, 900ULL << 20));
  const auto rows = table.rows(8, 120);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_THAT(rows[0], HasSubstr("nproc=2"));
  EXPECT_THAT(rows[0], HasSubstr("228.0 samples/s  1.93x"));
  EXPECT_THAT(rows[0], HasSubstr("918"));
  EXPECT_THAT(rows[0], EndsWith("2 trials"));
  EXPECT_THAT(rows[0], HasSubstr("###############="));
  EXPECT_THAT(rows[1], HasSubstr("########  "));
  EXPECT_THAT(rows[1], EndsWith("start"));
}

TEST(TrialTable, KeepsTheStartAndFitsTheTerminal) {
  TrialTable table(start(), "samples/s");
  for (int nproc = 1; nproc <= 9; ++nproc) table.add(trial_of(nproc, 10.0 * nproc));
  for (const int width : {40, 80}) {
    const auto rows = table.rows(4, width);
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_THAT(rows[2], HasSubstr("nproc=7"));
    EXPECT_THAT(rows[3], HasSubstr("nproc=1"));
    for (const std::string& row : rows) EXPECT_LE(display_width(row), width);
  }
}

TEST(TrialTable, AFailureIsARow) {
  TrialTable table(start(), "pages/s");
  table.add(trial_of(1, 10));
  Trial failed = trial_of(2, 0);
  failed.outcome = Outcome::out_of_memory;
  table.add(failed);
  EXPECT_THAT(table.rows(8, 80)[1], EndsWith("out_of_memory"));
}

}  // namespace
}  // namespace ocrtune
