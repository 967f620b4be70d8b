#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/sample_windows.h"
#include "trial/workloads/command/command_fill.h"
#include "tuner/search/search.h"
#include "tuner/verdict/recommend.h"

namespace ocrtune {
namespace {

constexpr double kSecondsATrial = 5;

Knobs shared_out(int nproc, int threads, int batch) {
  Knobs knobs;
  knobs.nproc = nproc;
  knobs.threads = threads;
  knobs.batch = batch;
  return knobs;
}

Space eight_cpus() {
  std::vector<Knobs> points;
  for (const int nproc : {1, 2, 4, 8}) {
    for (const int threads : {1, 2, 4, 8}) {
      if (nproc * threads > 8) continue;
      for (const int batch : {1, 2, 4, 8, 16, 32, 64}) {
        points.push_back(shared_out(nproc, threads, batch));
      }
    }
  }
  return Space(std::move(points));
}

// Processes share work well, threads badly, and each step costs as much as four samples.
double rate_of(const Knobs& knobs) {
  return 10 * knobs.nproc * std::pow(knobs.threads, 0.6) * knobs.batch / (knobs.batch + 4.0);
}

Trial played(const Proposal& proposal, double samples_per_second) {
  Trial trial;
  trial.knobs = proposal.knobs;
  trial.phase = proposal.phase;
  trial.round = proposal.round;
  trial.outcome = Outcome::ok;
  trial.samples = {window_of(samples_per_second)};
  trial.samples_per_second = samples_per_second;
  trial.seconds = kSecondsATrial;
  return trial;
}

TuneResult tuned(std::int64_t recipe_batch, double budget_seconds, double& beyond_seconds) {
  const Space space = eight_cpus();
  SearchOptions options;
  options.cpus = 8;
  options.recipe_batch = recipe_batch;
  options.first = {shared_out(1, 1, 8)};
  const auto search = make_search(space, options);
  std::vector<Trial> trials;
  double left = budget_seconds;
  beyond_seconds = 0;
  while (left >= kSecondsATrial) {
    const auto proposal = search->next(left);
    if (!proposal) break;
    const Trial trial = played(*proposal, rate_of(proposal->knobs));
    if (global_batch(trial.knobs) != recipe_batch) beyond_seconds += trial.seconds;
    left -= trial.seconds;
    search->tell(trial);
    trials.push_back(trial);
  }
  RecommendOptions verdict;
  verdict.baseline = options.first[0];
  verdict.recipe_batch = recipe_batch;
  verdict.cpus = 8;
  return recommend(space, *search, trials, verdict);
}

TEST(RecipeSearch, TheHeadlineKeepsTheGlobalBatchAndTheFasterOneStandsSecond) {
  for (const double budget : {100.0, 200.0, 400.0}) {
    double beyond_seconds = 0;
    const TuneResult found = tuned(8, budget, beyond_seconds);
    ASSERT_TRUE(found.found);
    EXPECT_EQ(global_batch(found.recommendation.knobs), 8) << budget;
    // By hand: of those that keep 8, one process with all threads is best.
    EXPECT_GE(rate_of(found.recommendation.knobs), 0.85 * rate_of(shared_out(1, 8, 8))) << budget;
    EXPECT_LE(beyond_seconds, budget / 3 + kSecondsATrial) << budget;
    ASSERT_TRUE(found.beyond_recipe.has_value()) << budget;
    EXPECT_GT(found.beyond_recipe->global_batch, 8);
    EXPECT_GT(found.beyond_recipe->ratio.low, 1);
    EXPECT_GE(rate_of(found.beyond_recipe->knobs), 0.6 * rate_of(shared_out(8, 1, 64))) << budget;
  }
}

// Two of the kept recipe tie ahead of everything that was run: the search over all would run these
// two in turns until the budget ends.
TEST(RecipeSearch, TheShareOfOtherRecipesIsNotSpentOnTiesOfTheKeptOne) {
  std::vector<Knobs> points;
  for (const int nproc : {1, 2}) {
    for (const int batch : {64, 128, 256, 512}) {
      for (const int workers : {0, 1, 2, 3}) {
        points.push_back(shared_out(nproc, 1, batch));
        points.back().workers = workers;
      }
    }
  }
  const Space space{std::move(points)};
  // Half of the rate without workers, all of it with one or more.
  const auto rate = [](const Knobs& knobs) {
    const double batch = knobs.batch;
    return (knobs.workers == 0 ? 50 : 100) * knobs.nproc * batch / (batch + 40);
  };
  SearchOptions options;
  options.cpus = 2;
  options.recipe_batch = 256;
  options.first = {shared_out(2, 1, 128)};
  const auto search = make_search(space, options);
  double fastest = 0, left = 130;
  while (left >= kSecondsATrial) {
    const auto proposal = search->next(left);
    if (!proposal) break;
    const Trial trial = played(*proposal, rate(proposal->knobs));
    left -= trial.seconds;
    search->tell(trial);
    if (global_batch(trial.knobs) != 256) fastest = std::max(fastest, trial.samples_per_second);
  }
  Knobs best = shared_out(2, 1, 512);
  best.workers = 1;
  EXPECT_GE(fastest, 0.95 * rate(best));
}

TEST(RecipeSearch, AFreeRecipeIsSearchedWhole) {
  double beyond_seconds = 0;
  const TuneResult found = tuned(0, 200, beyond_seconds);
  EXPECT_GE(rate_of(found.recommendation.knobs), 0.95 * rate_of(shared_out(8, 1, 64)));
  EXPECT_FALSE(found.beyond_recipe.has_value());
}

}  // namespace
}  // namespace ocrtune
