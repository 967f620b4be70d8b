#include "trial/observe/memory_account.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

struct Row {
  int pid;
  std::uint64_t rss, pss, peak_rss = 0;  // MiB
};

MemoryReading reading(const std::vector<Row>& rows, std::uint64_t available = 0) {
  MemoryReading all;
  for (const Row& row : rows) {
    ProcessMemory process;
    process.pid = row.pid;
    process.rss_bytes = row.rss * kMiB;
    process.pss_bytes = row.pss * kMiB;
    process.peak_rss_bytes = std::max(row.rss, row.peak_rss) * kMiB;
    all.rss_bytes += process.rss_bytes;
    all.pss_bytes += process.pss_bytes;
    all.processes.push_back(process);
  }
  all.available_bytes = available * kMiB;
  return all;
}

TEST(MemoryAccount, SharedPagesOfNewChildrenAreNoPeak) {
  MemoryAccount account(2);
  EXPECT_TRUE(account.wants_pss(0, 0));
  account.take_pss(reading({{1, 700, 700}}), 0, 0.01);
  const std::vector<Row> family = {{1, 700, 100}, {2, 700, 100}, {3, 700, 100}, {4, 700, 100},
                                   {5, 700, 100}, {6, 700, 100}, {7, 700, 100}};
  account.take_rss(reading(family), 0.3);
  EXPECT_EQ(account.bytes(), 700 * kMiB);
  EXPECT_TRUE(account.wants_pss(0.3, 0)) << "unread children may hold anything";
  account.take_pss(reading(family), 0.3, 0.01);
  account.take_rss(reading(family), 0.4);
  EXPECT_EQ(account.peak_bytes(), 700 * kMiB);
  EXPECT_FALSE(account.wants_pss(0.4, 2000 * kMiB));
  EXPECT_FALSE(is_unsure_peak(account.peak_bytes(), account.possible_peak_bytes()));
}

TEST(MemoryAccount, WhatOnlyTheEndTellsMakesThePeakUnsure) {
  MemoryAccount account(2);
  account.take_pss(reading({{1, 100, 60}}), 0, 0.01);
  account.take_ended(100 * kMiB);
  EXPECT_EQ(account.possible_peak_bytes(), 60 * kMiB);  // the rest is others', too
  account.take_ended(190 * kMiB);
  EXPECT_EQ(account.peak_bytes(), 60 * kMiB);
  EXPECT_EQ(account.possible_peak_bytes(), 150 * kMiB);
}

TEST(MemoryAccount, GrowthThatIsGivenBackBeforeItsReadingMayHaveBeenThePeak) {
  MemoryAccount account(2);
  account.take_pss(reading({{1, 60, 60}}), 0, 0.01);
  account.take_rss(reading({{1, 106, 0}}), 0.1);
  account.take_pss(reading({{1, 2, 2, 106}}), 0.1, 0.01);
  EXPECT_EQ(account.peak_bytes(), 60 * kMiB);
  EXPECT_EQ(account.possible_peak_bytes(), 106 * kMiB);
  account.take_ended(144 * kMiB);
  EXPECT_EQ(account.possible_peak_bytes(), 144 * kMiB);
  account.take_ended(144 * kMiB);
  EXPECT_EQ(account.possible_peak_bytes(), 144 * kMiB);
}

TEST(MemoryAccount, ASpikeCountsInFullWhileItsPagesAreGivenBack) {
  MemoryAccount account(2);
  account.take_pss(reading({{1, 66, 63}}), 0, 0.01);
  account.take_rss(reading({{1, 144, 0}}), 0.1);
  account.take_pss(reading({{1, 87, 1, 160}}), 0.1, 0.01);  // RSS is behind
  EXPECT_EQ(account.peak_bytes(), 63 * kMiB);
  EXPECT_EQ(account.possible_peak_bytes(), 157 * kMiB);
}

TEST(MemoryAccount, PrivateGrowthCountsInFull) {
  MemoryAccount account(2);
  account.take_pss(reading({{1, 800, 100}, {2, 800, 100}}), 0, 0.1);
  account.take_rss(reading({{1, 1000, 0}, {2, 1000, 0}}), 0.5);
  EXPECT_EQ(account.bytes(), 600 * kMiB);
  EXPECT_EQ(account.peak_bytes(), 200 * kMiB) << "an estimate is no peak";
  EXPECT_TRUE(account.wants_pss(0.5, 500 * kMiB)) << "the limit may be passed";
  EXPECT_FALSE(account.wants_pss(0.5, 0)) << "0.1 CPU seconds are too dear for a peak at 0.5 s";
  EXPECT_TRUE(account.wants_pss(2.1, 0));
}

TEST(MemoryAccount, NoProcessIsAboveItsRss) {
  MemoryAccount account(1);
  account.take_pss(reading({{1, 500, 500}}), 0, 0);
  account.take_rss(reading({{1, 20, 0}}), 0.1);
  EXPECT_EQ(account.bytes(), 20 * kMiB);
}

TEST(MemoryAccount, WhatTheMachineLosesCallsForAReading) {
  MemoryAccount account(1);
  account.take_pss(reading({{1, 500, 250}, {2, 500, 250}}, 4000), 0, 0.001);
  account.take_rss(reading({{1, 500, 0}, {2, 500, 0}}, 3990), 0.2);
  EXPECT_FALSE(account.wants_pss(0.2, 0));
  account.take_rss(reading({{1, 500, 0}, {2, 500, 0}}, 3600), 0.2);  // copied on write
  EXPECT_TRUE(account.wants_pss(0.2, 0));
  EXPECT_TRUE(account.wants_pss(0.2, 900 * kMiB));
  EXPECT_EQ(account.bytes(), 500 * kMiB) << "others may have taken it";
}

// MemAvailable stays: another program gives back what the copies take.
TEST(MemoryAccount, PagesCopiedOnWriteCallForAReading) {
  const auto after_faults = [](std::uint64_t mib) {
    MemoryReading all = reading({{1, 500, 250}, {2, 500, 250}}, 4000);
    all.processes[1].faulted_bytes = mib * kMiB;
    return all;
  };
  MemoryAccount account(1);
  account.take_pss(after_faults(100), 0, 0.001);
  account.take_rss(after_faults(104), 0.1);
  EXPECT_FALSE(account.wants_pss(0.1, 0));
  account.take_rss(after_faults(300), 0.1);
  EXPECT_TRUE(account.wants_pss(0.1, 0));
  EXPECT_EQ(account.bytes(), 500 * kMiB) << "the pages may have been given back";
  EXPECT_TRUE(account.wants_pss(0.1, 690 * kMiB));
  MemoryReading copied = after_faults(300);
  copied.pss_bytes = 700 * kMiB;
  account.take_pss(copied, 0.1, 0.001);
  EXPECT_EQ(account.peak_bytes(), 700 * kMiB);
}

TEST(MemoryAccount, PagesThatComeAndGoCallForFewReadings) {
  MemoryAccount account(2);
  double now = 0;
  std::uint64_t faults = 0;
  int readings = 0;
  for (; now < 60; now += 0.1) {
    MemoryReading churn = reading({{1, 500, 250}, {2, 500, 250}}, 4000);
    churn.processes[0].faulted_bytes = (faults += 100) * kMiB;
    account.take_rss(churn, now);
    if (!account.wants_pss(now, 0)) continue;
    account.take_pss(churn, now, 0.005);
    ++readings;
  }
  EXPECT_LT(readings, 60 / 0.8 + 10) << "0.005 / (0.3 % of 2 CPUs), and the first ones";
  EXPECT_FALSE(is_unsure_peak(account.peak_bytes(), account.possible_peak_bytes()));
}

TEST(MemoryAccount, APeakThatNobodyReadIsSaid) {
  MemoryAccount account(1);
  account.take_pss(reading({{1, 100, 100}}), 0, 0.001);
  account.take_pss(reading({{1, 120, 120, 900}}), 1, 0.001);  // the kernel's mark tells
  EXPECT_EQ(account.peak_bytes(), 120 * kMiB);
  EXPECT_EQ(account.possible_peak_bytes(), 900 * kMiB);
  EXPECT_TRUE(is_unsure_peak(account.peak_bytes(), account.possible_peak_bytes()));
}

// The process ends before its PSS is read again.
TEST(MemoryAccount, TheKernelsMarkIsSeenWithoutAFullReading) {
  MemoryAccount account(1);
  account.take_pss(reading({{1, 130, 130}}), 0, 0.001);
  account.take_rss(reading({{1, 2, 0, 143}}), 0.1);
  EXPECT_TRUE(is_unsure_peak(account.peak_bytes(), account.possible_peak_bytes()));
  EXPECT_EQ(account.possible_peak_bytes(), 143 * kMiB);
}

TEST(MemoryAccount, WhatOneTakesWhileOthersEndMayHaveBeenHeldWithTheirs) {
  MemoryAccount account(1);
  account.take_pss(reading({{1, 60, 60}, {2, 80, 80}, {3, 80, 80}}), 0, 0.001);
  account.take_rss(reading({{1, 60, 0}, {2, 80, 0}, {3, 80, 0}}), 0.1);
  EXPECT_EQ(account.possible_peak_bytes(), 220 * kMiB);
  account.take_rss(reading({{1, 90, 0}}), 0.2);
  EXPECT_EQ(account.possible_peak_bytes(), 250 * kMiB);
  account.take_rss(reading({{1, 90, 0}}), 0.3);
  EXPECT_EQ(account.possible_peak_bytes(), 250 * kMiB);
}

TEST(MemoryAccount, ASpikeIsAddedToWhatIsHeldAndNotToAnEstimate) {
  MemoryAccount account(1);
  account.take_pss(reading({{1, 100, 100}, {2, 100, 100}}), 0, 0.001);
  account.take_rss(reading({{1, 100, 0, 110}, {2, 500, 0}}), 0.1);  // 2 maps what others hold, too
  account.take_pss(reading({{1, 100, 100}, {2, 500, 120}}), 0.1, 0.001);
  EXPECT_EQ(account.possible_peak_bytes(), 220 * kMiB);
}

TEST(MemoryAccount, AnEstimateThatWasReadAtOnceIsSettled) {
  MemoryAccount account(1);
  account.take_pss(reading({{1, 100, 50}, {2, 100, 50}}), 0, 0.001);
  account.take_rss(reading({{1, 400, 0}, {2, 400, 0}}), 0.1);  // 700 MiB, were it private
  account.take_pss(reading({{1, 400, 200}, {2, 400, 200}}), 0.1, 0.001);
  EXPECT_FALSE(is_unsure_peak(account.peak_bytes(), account.possible_peak_bytes()));
  account.take_rss(reading({{1, 900, 0}, {2, 400, 0}}), 0.2);
  account.take_rss(reading({{1, 400, 0}}), 0.3);  // given back, and nobody looked
  account.take_pss(reading({{1, 400, 400}}), 0.3, 0.001);
  EXPECT_TRUE(is_unsure_peak(account.peak_bytes(), account.possible_peak_bytes()));
}

TEST(MemoryAccount, ReadingsThatNothingCallsForAreRare) {
  MemoryAccount account(2);
  account.take_pss(reading({{1, 7000, 7000}}), 0, 0.06);
  account.take_rss(reading({{1, 7000, 0}}), 5);
  EXPECT_FALSE(account.wants_pss(5, 0));
  EXPECT_TRUE(account.wants_pss(10.1, 0));  // 0.06 / (0.3 % of 2 CPUs)
}

}  // namespace
}  // namespace ocrtune
