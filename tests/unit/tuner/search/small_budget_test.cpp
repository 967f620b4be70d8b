// What a search runs where a budget pays for few trials on few CPUs: nothing that cannot win.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/sample_windows.h"
#include "tuner/search/search.h"
#include "tuner/search/search_board.h"

namespace ocrtune {
namespace {

constexpr int kTwoCpus = 2;

Knobs grid_setting(int nproc, int threads, int batch, int workers = 0,
                   const char* binding = "none") {
  Knobs knobs;
  knobs.nproc = nproc;
  knobs.threads = threads;
  knobs.batch = batch;
  knobs.workers = workers;
  knobs.binding = binding;
  return knobs;
}

Space space_of_two_cpus() {
  std::vector<Knobs> points;
  for (const int nproc : {1, 2, 4, 11}) {
    for (const int threads : {1, 2}) {
      if (nproc * threads > kTwoCpus && threads > 1) continue;
      for (const int batch : {8, 16, 32, 64}) {
        for (const int workers : {0, 1, 2}) {
          for (const char* binding : {"none", "compact"}) {
            points.push_back(grid_setting(nproc, threads, batch, workers, binding));
          }
        }
      }
    }
  }
  return Space(points);
}

// A program that computes alone on its threads, watched on a machine that nobody else uses.
Trial observed(const Knobs& knobs, double busy_cpus) {
  Trial trial;
  trial.knobs = knobs;
  trial.outcome = Outcome::ok;
  trial.seconds = 20;
  trial.start_seconds = 10;
  trial.peak_bytes = static_cast<std::uint64_t>(knobs.nproc) * 400000000;
  trial.samples_per_second = 100 * busy_cpus * (1 - 1.0 / (4 + knobs.batch));
  Sample sample = window_of(trial.samples_per_second);
  sample.interference.observed_seconds = 1;
  sample.interference.cpu_seconds = busy_cpus;
  sample.interference.available_cpus = kTwoCpus;
  trial.samples.assign(8, sample);
  return trial;
}

Trial observed(const Knobs& knobs) {
  return observed(knobs, std::min(kTwoCpus, knobs.nproc * knobs.threads));
}

SearchOptions options_of(const Knobs& own) {
  SearchOptions options;
  options.cores = options.cpus = kTwoCpus;
  options.first = {own};
  options.safety.limit_bytes = 64000000000;
  return options;
}

TEST(SmallBudget, MoreThreadsThanBusyCpusAreCrowded) {
  const Space space = space_of_two_cpus();
  SearchBoard board(space, options_of(grid_setting(1, 1, 8)));
  const int four = space.find(grid_setting(4, 1, 64));
  EXPECT_FALSE(board.crowded(four)) << "nothing has run";
  board.tell(observed(grid_setting(1, 1, 8)));
  EXPECT_FALSE(board.crowded(four)) << "one CPU is idle";
  board.tell(observed(grid_setting(1, 2, 8), 1.2));
  EXPECT_FALSE(board.crowded(four)) << "threads that wait leave room for processes";
  board.tell(observed(grid_setting(2, 1, 8)));
  EXPECT_TRUE(board.crowded(four));
  EXPECT_FALSE(board.crowded(space.find(grid_setting(2, 1, 64))));
}

// Who lists 2, 4 and 8 threads on two CPUs is answered by two of them.
TEST(SmallBudget, ASecondSettingIsMeasuredEvenWhereItCanOnlyTakeTurns) {
  const Space space({grid_setting(1, 2, 8), grid_setting(1, 4, 8), grid_setting(1, 8, 8)});
  SearchBoard board(space, options_of(grid_setting(1, 2, 8)));
  board.tell(observed(grid_setting(1, 2, 8)));
  EXPECT_FALSE(board.crowded(space.find(grid_setting(1, 4, 8))));
  board.tell(observed(grid_setting(1, 4, 8)));
  EXPECT_TRUE(board.crowded(space.find(grid_setting(1, 8, 8))));
}

// A program that binds itself to one CPU, whatever threads it has; and one that binds each thread.
TEST(SmallBudget, MoreThreadsThanTheirMaskAreCrowded) {
  const Space space({grid_setting(1, 1, 8), grid_setting(1, 2, 8), grid_setting(1, 4, 8),
                     grid_setting(2, 2, 8), grid_setting(1, 1, 16)});
  SearchOptions options = options_of(grid_setting(1, 1, 8));
  options.cores = options.cpus = 16;
  const int four = space.find(grid_setting(1, 4, 8)), ranks = space.find(grid_setting(2, 2, 8));
  const auto after = [&](int threads, int allowed) {
    SearchBoard board(space, options);
    Trial trial = observed(grid_setting(1, threads, 8), std::min(allowed, threads));
    trial.stages.allowed_cpus = allowed;
    board.tell(observed(grid_setting(1, 1, 16), 0.5));
    board.tell(trial);
    EXPECT_FALSE(board.crowded(ranks)) << "each process may have a mask of its own";
    return board.crowded(four);
  };
  EXPECT_TRUE(after(2, 1));
  EXPECT_FALSE(after(1, 1)) << "one thread, bound to one CPU: the next one may have another";
  EXPECT_FALSE(after(2, 2)) << "each thread has a CPU";
  EXPECT_FALSE(after(2, 16));
}

TEST(SmallBudget, NoGainIsExpectedBeyondTheCpus) {
  const Space space = space_of_two_cpus();
  const auto search = make_search(space, options_of(grid_setting(1, 1, 8)));
  for (const Knobs& knobs : {grid_setting(1, 1, 8), grid_setting(2, 1, 8), grid_setting(1, 2, 8),
                             grid_setting(2, 1, 64)}) {
    search->tell(observed(knobs));
  }
  const Prediction crowded = search->predict(grid_setting(11, 1, 8));
  ASSERT_GT(crowded.objective_value.median, 0);
  EXPECT_LT(crowded.objective_value.high, 210) << "two CPUs, 100 samples a CPU second";
  EXPECT_LE(crowded.objective_value.low, crowded.objective_value.median);
}

// A program that binds itself to one of two CPUs has no more of them with one thread than with two.
TEST(SmallBudget, NoGainIsExpectedBeyondTheMask) {
  const Space space({grid_setting(1, 1, 8), grid_setting(1, 2, 8), grid_setting(1, 4, 8)});
  const auto highest = [&](int allowed, bool two_tried) {
    const auto search = make_search(space, options_of(grid_setting(1, 1, 8)));
    for (const int threads : {1, 2}) {
      if (threads > 1 && !two_tried) break;
      const int reach = allowed > 0 ? allowed : kTwoCpus;
      Trial trial = observed(grid_setting(1, threads, 8), std::min(threads, reach));
      trial.stages.allowed_cpus = allowed;
      search->tell(trial);
    }
    return search->predict(grid_setting(1, 4, 8)).objective_value.high;
  };
  const double one_cpu = 100 * (1 - 1.0 / 12);
  EXPECT_LT(highest(1, true), 1.05 * one_cpu);
  EXPECT_GT(highest(2, true), 1.5 * one_cpu) << "two CPUs are in reach";
  EXPECT_GT(highest(0, true), 1.5 * one_cpu) << "masks are not known";
  EXPECT_GT(highest(1, false), 1.5 * one_cpu) << "the next thread may have another CPU";
}

TEST(SmallBudget, IsPlannedFromTrialsThatWorked) {
  const Space space({grid_setting(1, 1, 1), grid_setting(1, 2, 1), grid_setting(2, 1, 1)});
  Ledger ledger(space);
  Trial late = observed(grid_setting(1, 2, 1));
  late.outcome = Outcome::timed_out;
  late.seconds = 90;
  ledger.add(late);
  EXPECT_DOUBLE_EQ(ledger.expected_trial_seconds(5), 90);
  Trial first = observed(grid_setting(1, 1, 1));
  first.seconds = 8;
  ledger.add(first);
  EXPECT_DOUBLE_EQ(ledger.expected_trial_seconds(5), 8);
}

TEST(SmallBudget, ASweepTellsTheRoundsOfItsRace) {
  const Space space({grid_setting(1, 1, 8), grid_setting(2, 1, 8)});
  const auto search = make_search(space, options_of(grid_setting(1, 1, 8)));
  int raced = 0;
  for (double left = 480; left > 0; left -= 20) {
    const auto proposal = search->next(left);
    if (!proposal) break;
    Trial trial = observed(proposal->knobs);
    trial.phase = proposal->phase;
    trial.round = proposal->round;
    raced += trial.phase == "race" ? 1 : 0;
    EXPECT_EQ(trial.phase == "race", trial.round > 0) << proposal->why;
    search->tell(trial);
  }
  EXPECT_GT(raced, 0);
}

TEST(SmallBudget, IsSpentOnWhatCanWin) {
  const Space space = space_of_two_cpus();
  const auto search = make_search(space, options_of(grid_setting(1, 1, 8)));
  int slow = 0, trials = 0;
  for (double left = 480; trials < 24; left -= 20, ++trials) {
    const auto proposal = search->next(left);
    if (!proposal) break;
    EXPECT_LE(proposal->knobs.nproc, kTwoCpus) << knobs_text(proposal->knobs);
    const bool two_busy = proposal->knobs.nproc * proposal->knobs.threads == kTwoCpus;
    const bool base = proposal->phase == "baseline" || proposal->phase == "race";
    slow += two_busy || base ? 0 : 1;
    EXPECT_EQ(proposal->phase == "race", proposal->round > 0) << proposal->why;
    Trial trial = observed(proposal->knobs);
    trial.phase = proposal->phase;
    trial.round = proposal->round;
    search->tell(trial);
  }
  EXPECT_GE(trials, 8);
  EXPECT_LE(slow, 3) << "settings that leave a CPU idle";
}

}  // namespace
}  // namespace ocrtune
