#include "trial/observe/memory_account.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

struct Row {
  int pid;
  std::uint64_t rss, pss, peak_rss = 0, faulted = 0, reaped = 0;  // MiB
};

MemoryReading reading(const std::vector<Row>& rows, std::uint64_t available = 0) {
  MemoryReading all;
  for (const Row& row : rows) {
    ProcessMemory process;
    process.pid = row.pid;
    process.rss_bytes = row.rss * kMiB;
    process.pss_bytes = row.pss * kMiB;
    process.peak_rss_bytes = std::max(row.rss, row.peak_rss) * kMiB;
    process.faulted_bytes = row.faulted * kMiB;
    process.reaped_bytes = row.reaped * kMiB;
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

TEST(MemoryAccount, ATreeThatSharesNothingIsReadInFullWithoutHaste) {
  MemoryAccount account(2);
  account.take_pss(reading({{1, 100, 100}, {2, 300, 299}}), 0, 0.1);
  account.take_rss(reading({{1, 180, 0}, {2, 320, 0}}), 0.1);
  EXPECT_EQ(account.peak_bytes(), 499 * kMiB) << "as RSS grew";
  EXPECT_FALSE(account.wants_pss(2.1, 2000 * kMiB));
  EXPECT_TRUE(account.wants_pss(5.1, 2000 * kMiB)) << "to see children";
  EXPECT_TRUE(account.wants_pss(0.5, 400 * kMiB)) << "who is stopped is read first";

  // What both have attached may be the same memory.
  MemoryReading attached = reading({{1, 580, 0}, {2, 720, 0}});
  for (ProcessMemory& process : attached.processes) process.shm_rss_bytes = 400 * kMiB;
  account.take_rss(attached, 2.1);
  EXPECT_EQ(account.peak_bytes(), 499 * kMiB);
  EXPECT_TRUE(account.wants_pss(2.1, 0));
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

TEST(MemoryAccount, CodeCountsAndOtherMappedFilesAreNoSpike) {
  const auto mapping = [](std::uint64_t file, std::uint64_t code) {
    MemoryReading all = reading({{1, 100, 60, 100 + file}});
    all.processes[0].file_rss_bytes = file * kMiB;
    all.code_bytes = code * kMiB;
    return all;
  };
  MemoryAccount account(2);
  account.take_pss(mapping(10, 7), 0, 0.01);
  EXPECT_EQ(account.peak_bytes(), 67 * kMiB);
  account.take_rss(mapping(3000, 7), 0.1);
  EXPECT_EQ(account.bytes(), 67 * kMiB);
  EXPECT_FALSE(account.wants_pss(0.1, 1000 * kMiB));
  account.take_pss(mapping(3000, 7), 0.2, 0.01);
  account.take_ended(3100 * kMiB);
  EXPECT_EQ(account.peak_bytes(), 67 * kMiB);
  EXPECT_FALSE(is_unsure_peak(account.peak_bytes(), account.possible_peak_bytes()));
}

TEST(MemoryAccount, GrowthThatIsGivenBackBeforeItsReadingMayHaveBeenThePeak) {
  MemoryAccount account(2);
  account.take_pss(reading({{1, 60, 58}}), 0, 0.01);
  account.take_rss(reading({{1, 106, 0}}), 0.1);
  account.take_pss(reading({{1, 2, 2, 106}}), 0.1, 0.01);
  EXPECT_EQ(account.peak_bytes(), 58 * kMiB);
  EXPECT_EQ(account.possible_peak_bytes(), 104 * kMiB);
  account.take_ended(144 * kMiB);
  EXPECT_EQ(account.possible_peak_bytes(), 142 * kMiB);
  account.take_ended(144 * kMiB);
  EXPECT_EQ(account.possible_peak_bytes(), 142 * kMiB);
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
  MemoryReading mapping = reading({{1, 100, 0, 110}, {2, 500, 0}});
  mapping.processes[1].shm_rss_bytes = 400 * kMiB;  // what others hold, too
  account.take_rss(mapping, 0.1);
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

bool is_unsure(const MemoryAccount& account) {
  return is_unsure_peak(account.peak_bytes(), account.possible_peak_bytes());
}

// A parent and three children that copy its 100 MiB after the first reading and end, 80 MiB each.
// How often each has faulted is known while it is a zombie, and from its parent afterwards.
TEST(MemoryAccount, CopiesOfThoseThatEndBetweenTwoLateReadingsMakeThePeakUnsure) {
  const MemoryReading first =
      reading({{1, 100, 25, 0, 26}, {2, 100, 25}, {3, 100, 25}, {4, 100, 25}});
  MemoryAccount seen(2);
  seen.take_pss(first, 0, 0.001);
  seen.take_rss(reading({{1, 100, 0, 0, 26}, {2, 100, 0, 0, 60}, {3, 100, 0, 0, 50}, {4, 100, 0}}),
                0.1);
  // Zombies, and one that was waited for.
  const MemoryReading ended =
      reading({{1, 100, 100, 0, 26, 80}, {3, 0, 0, 0, 80}, {4, 0, 0, 0, 80}});
  seen.take_pss(ended, 0.6, 0.001);
  EXPECT_EQ(seen.peak_bytes(), 100 * kMiB);
  EXPECT_TRUE(is_unsure(seen));
  EXPECT_EQ(seen.possible_peak_bytes(), (100 + 3 * 80) * kMiB);

  MemoryAccount unseen(2);  // not one reading after the first
  unseen.take_pss(first, 0, 0.001);
  unseen.take_last(reading({{1, 100, 0, 0, 26, 240}}), 0.6);
  EXPECT_EQ(unseen.possible_peak_bytes(), (100 + 3 * 80) * kMiB);
}

TEST(MemoryAccount, CopiesThatARareReadingMissedMakeThePeakUnsure) {
  MemoryAccount account(2);
  account.take_pss(reading({{1, 500, 250}, {2, 500, 250}}, 4000), 0, 0.1);
  account.take_rss(reading({{1, 500, 0}, {2, 500, 0, 0, 200}}, 4000), 0.1);
  EXPECT_FALSE(account.wants_pss(0.1, 0)) << "0.1 CPU seconds are too dear";
  account.take_pss(reading({{1, 500, 500, 0, 0, 200}}, 4000), 0.2, 0.1);
  EXPECT_EQ(account.possible_peak_bytes(), 700 * kMiB);
}

// 200 MiB for 0.4 s, of children that no reading has seen.
TEST(MemoryAccount, ChildrenThatALateReadingMissedMakeThePeakUnsure) {
  for (const double gap : {0.1, 0.5}) {
    MemoryAccount account(2);
    account.take_pss(reading({{1, 60, 60, 0, 61}}), 0, 0.001);
    account.take_rss(reading({{1, 60, 0, 0, 62, 20}}), gap);
    EXPECT_EQ(is_unsure(account), gap > 0.4) << "20 MiB of short commands, after " << gap << " s";
    account.take_rss(reading({{1, 60, 0, 0, 62, 220}}), 2 * gap);
    EXPECT_TRUE(is_unsure(account));
    EXPECT_GE(account.possible_peak_bytes(), 260 * kMiB);
  }
}

TEST(DoubtfulBytes, SharersThatEndAsTheyAreReadCountOnce) {
  // 144 MiB that four share, each read as one fewer is left.
  const MemoryReading before = reading({{1, 144, 0}, {2, 144, 0}, {3, 144, 0}, {4, 144, 0}});
  const MemoryReading sum = reading({{1, 144, 36}, {2, 144, 36}, {3, 144, 48}, {4, 144, 72}});
  const MemoryReading after = reading({{1, 144, 0}, {2, 0, 0}, {3, 0, 0}, {4, 0, 0}});
  EXPECT_GT(sum.pss_bytes, 144 * kMiB);
  EXPECT_LE(sum.pss_bytes - doubtful_bytes(before, sum, after), 144 * kMiB);
  EXPECT_EQ(doubtful_bytes(before, sum, before), 0u);
}

TEST(DoubtfulBytes, WhoBeginsToShareWhatAnotherHasCountsOnce) {
  const MemoryReading before = reading({{1, 100, 0}, {2, 1, 0}});
  const MemoryReading sum = reading({{1, 100, 100}, {2, 101, 51}});
  EXPECT_EQ(doubtful_bytes(before, sum, reading({{1, 100, 0}, {2, 101, 0}})), 51 * kMiB);
}

TEST(DoubtfulBytes, GrowthIsMemoryAsFarAsItWasThere) {
  const MemoryReading before = reading({{1, 100, 0}, {2, 100, 0}});
  const MemoryReading after = reading({{1, 108, 0}, {2, 101, 0}});
  EXPECT_EQ(doubtful_bytes(before, reading({{1, 104, 80}, {2, 101, 60}}), after), 8 * kMiB);
  EXPECT_EQ(doubtful_bytes(before, reading({{1, 104, 104}, {2, 101, 101}}), after), 0u)
      << "of those that share nothing";
  EXPECT_EQ(
      doubtful_bytes(reading({{1, 100, 0}}), reading({{1, 104, 104}}), reading({{1, 108, 0}})), 0u)
      << "alone";
}

TEST(MemoryAccount, ChildrenThatNoReadingSawAliveMakeThePeakUnsure) {
  for (const bool unseen : {false, true}) {
    MemoryAccount account(2);
    account.take_pss(reading({{1, 60, 60, 0, 61}}), 0, 0.001);
    MemoryReading zombies = reading({{1, 60, 0, 0, 61}, {2, 0, 0, 0, 55}, {3, 0, 0, 0, 55}});
    zombies.processes[1].unseen = zombies.processes[2].unseen = unseen;
    account.take_rss(zombies, 0.1);
    EXPECT_EQ(account.possible_peak_bytes(), (unseen ? 170 : 60) * kMiB);
    // That their parent counts them says nothing new.
    account.take_rss(reading({{1, 60, 0, 0, 61, 110}}), 0.2);
    EXPECT_EQ(account.possible_peak_bytes(), (unseen ? 170 : 60) * kMiB);
  }
}

TEST(MemoryAccount, WhatALateReadingStillSeesIsSure) {
  MemoryAccount account(2);
  account.take_pss(reading({{1, 100, 50, 0, 100}, {2, 100, 50}}), 0, 0.001);
  account.take_rss(reading({{1, 100, 0, 0, 100}, {2, 100, 0, 0, 80}}), 1);
  account.take_pss(reading({{1, 100, 90, 0, 100}, {2, 100, 90, 0, 80}}), 2, 0.001);
  EXPECT_EQ(account.peak_bytes(), 180 * kMiB);
  EXPECT_FALSE(is_unsure(account));
  // One ends as the others are read: its parent has counted its faults by the next reading.
  account.take_pss(reading({{1, 100, 100, 0, 100}}), 3, 0.001);
  account.take_rss(reading({{1, 100, 0, 0, 100, 80}}), 4);
  EXPECT_FALSE(is_unsure(account));
}

// Who ends before another grows was not there beside it; what they shared is the other's now.
TEST(MemoryAccount, WhatIsTakenAfterAnEndIsNotBesideIt) {
  MemoryAccount account(2);
  account.take_pss(reading({{1, 60, 20, 0, 61}, {2, 100, 60, 0, 41}, {3, 100, 60, 0, 41}}), 0,
                   0.01);
  account.take_rss(reading({{1, 60, 0, 0, 61}, {2, 0, 0, 0, 41}, {3, 0, 0, 0, 41}}), 0.1);
  for (const double now : {0.2, 0.3}) {
    account.take_rss(reading({{1, 80, 0, 0, 81}, {2, 0, 0, 0, 41}, {3, 0, 0, 0, 41}}), now);
    EXPECT_EQ(account.possible_peak_bytes(), 140 * kMiB);
  }
  account.take_pss(reading({{1, 80, 80, 0, 81}, {2, 0, 0, 0, 41}, {3, 0, 0, 0, 41}}), 0.4, 0.01);
  EXPECT_EQ(account.possible_peak_bytes(), 140 * kMiB);

  MemoryAccount shared(2);
  shared.take_pss(reading({{1, 700, 350, 0, 700}, {2, 700, 350}}), 0, 0.1);
  shared.take_rss(reading({{1, 700, 0, 0, 700}}), 0.1);
  shared.take_rss(reading({{1, 800, 0, 0, 800}}), 0.2);
  EXPECT_EQ(shared.possible_peak_bytes(), 800 * kMiB) << "all its pages are its own";
}

// A loader's workers share 400 MiB of 500 with their parent and take and give back pages all the
// time, at some GB a second; at the end of an epoch they go.
TEST(MemoryAccount, WorkersThatEndAreNoPeakWhereReadingsCameInTime) {
  for (const bool late : {false, true}) {
    MemoryAccount account(2);
    std::uint64_t faults = 0;
    double now = 0;
    const auto workers = [&](bool alive) {
      std::vector<Row> rows = {{1, 500, 180, 0, 500, alive ? 0 : 3 * faults}};
      for (int pid = 2; alive && pid < 5; ++pid) rows.push_back({pid, 480, 160, 0, faults});
      return reading(rows, 4000);
    };
    for (; now < 20; now += 0.1, faults += 300) {
      account.take_rss(workers(true), now);
      if (account.wants_pss(now, 0)) account.take_pss(workers(true), now, 0.02);
    }
    account.take_rss(workers(false), now + (late ? 1 : 0));
    EXPECT_EQ(is_unsure(account), late);
  }
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
