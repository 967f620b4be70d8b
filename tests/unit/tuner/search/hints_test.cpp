// A search that starts from what an earlier run found.
#include "tuner/search/hints.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/sample_windows.h"
#include "tuner/search/search.h"

namespace ocrtune {
namespace {

Knobs setting(int nproc, int threads, int batch) {
  Knobs knobs;
  knobs.nproc = nproc;
  knobs.threads = threads;
  knobs.batch = batch;
  return knobs;
}

SettingSummary measured(const Knobs& knobs, double rate) {
  SettingSummary summary;
  summary.knobs = knobs;
  summary.outcome = rate > 0 ? Outcome::ok : Outcome::out_of_memory;
  summary.samples_per_second = {rate, rate, rate};
  return summary;
}

Trial ran(const Knobs& knobs, double rate) {
  Trial trial;
  trial.knobs = knobs;
  trial.outcome = Outcome::ok;
  trial.samples_per_second = rate;
  trial.peak_bytes = 1000000;
  trial.seconds = 1;
  trial.samples.assign(8, window_of(rate));
  return trial;
}

Space space_of_eight_cpus() {
  std::vector<Knobs> points;
  for (const int nproc : {1, 2, 4, 8}) {
    for (const int threads : {1, 2, 4, 8}) {
      for (const int batch : {8, 16, 32, 64}) {
        if (nproc * threads > 8) continue;
        for (const int workers : {0, 1, 2, 4}) {
          points.push_back(setting(nproc, threads, batch));
          points.back().workers = workers;
        }
      }
    }
  }
  return Space(points);
}

TEST(Hints, AreTheBestOfEachTeamThatWorked) {
  TuneResult earlier;
  earlier.settings = {measured(setting(2, 4, 32), 100), measured(setting(2, 4, 16), 98),
                      measured(setting(8, 1, 8), 0),    measured(setting(4, 2, 32), 90),
                      measured(setting(1, 8, 64), 95),  measured(setting(1, 1, 8), 20)};
  EXPECT_EQ(hints_of(earlier),
            (std::vector<Knobs>{setting(2, 4, 32), setting(1, 8, 64), setting(4, 2, 32)}));
  EXPECT_TRUE(hints_of(TuneResult()).empty());
}

TEST(Hints, OfALargerMachineGoToTheNearestPoint) {
  const Space space({setting(1, 1, 16), setting(1, 2, 16), setting(2, 1, 16), setting(2, 1, 64)});
  const std::vector<int> points =
      hint_points(space, {setting(16, 1, 48), setting(8, 1, 64), setting(1, 8, 8)});
  EXPECT_EQ(points,
            (std::vector<int>{space.find(setting(2, 1, 64)), space.find(setting(1, 2, 16))}));
}

// The settings that are proposed first, if the rate of each is `rate`.
template <class Rate>
std::vector<Knobs> first_of(const std::vector<Knobs>& hints, int count, Rate rate) {
  const Space space = space_of_eight_cpus();
  SearchOptions options;
  options.cores = options.cpus = 8;
  options.first = {setting(1, 8, 16)};
  options.hints = hints;
  options.safety.limit_bytes = 64000000000;
  const auto search = make_search(space, options);
  std::vector<Knobs> proposed;
  for (int i = 0; i < count; ++i) {
    const auto proposal = search->next(60 - i);
    if (!proposal) break;
    proposed.push_back(proposal->knobs);
    Trial trial = ran(proposal->knobs, rate(proposal->knobs));
    trial.phase = proposal->phase;
    search->tell(trial);
  }
  return proposed;
}

const std::vector<Knobs> kHints = {setting(4, 2, 64), setting(8, 1, 64), setting(2, 4, 64)};

bool among(const std::vector<Knobs>& all, const Knobs& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

TEST(Hints, AreTriedRightAfterTheUsersSetting) {
  const auto rate = [](const Knobs& knobs) { return knobs.nproc == 4 ? 100.0 : 50.0; };
  const std::vector<Knobs> proposed = first_of(kHints, 8, rate);
  ASSERT_EQ(proposed.size(), 8U);
  EXPECT_EQ(proposed[0], setting(1, 8, 16));
  for (const Knobs& hint : kHints) EXPECT_TRUE(among(proposed, hint)) << knobs_text(hint);
}

TEST(Hints, OfARunThatRanksOtherwiseAreDropped) {
  const auto rate = [](const Knobs& knobs) { return 100.0 / knobs.nproc / std::log(knobs.batch); };
  const std::vector<Knobs> proposed = first_of(kHints, 6, rate);
  EXPECT_TRUE(among(proposed, kHints[0]));
  const bool others = among(proposed, kHints[1]) || among(proposed, kHints[2]);
  EXPECT_FALSE(others) << "the first hint was behind the user's setting";
}

}  // namespace
}  // namespace ocrtune
