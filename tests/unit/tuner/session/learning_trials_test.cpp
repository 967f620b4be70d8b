#include "tuner/session/learning_trials.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/sample_jobs.h"
#include "tests/support/sample_windows.h"
#include "tests/unit/tuner/session/session_bed.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/engine_train/training_workload.h"

namespace ocrtune {
namespace {

// Large batches are faster, and take more samples: a batch of 64 takes twice those of one of 8.
class LearningMachine : public Runner {
 public:
  LearningMachine(LearningAsk ask, CountingClock& clock, std::vector<LearningAsk>& learned)
      : ask_(ask), clock_(clock), learned_(learned) {}

  Trial run(const Knobs& knobs, const TrialLimits& limits) override {
    Trial trial;
    trial.knobs = knobs;
    trial.outcome = Outcome::ok;
    trial.peak_bytes = 100U << 20;
    trial.seconds = limits.measure_seconds + 1;
    trial.samples_per_second = 100 * knobs.nproc * knobs.batch / (knobs.batch + 6.0);
    trial.samples = {window_of(trial.samples_per_second, limits.measure_seconds)};
    if (ask_.watches) learn(knobs, limits.measure_seconds, trial);
    clock_.sleep_seconds(trial.seconds);
    return trial;
  }

 private:
  void learn(const Knobs& knobs, double seconds, Trial& trial) {
    learned_.push_back(ask_);
    Random random(ask_.seed);
    const double luck = 1 + 0.02 * random.normal();
    const auto batch = static_cast<double>(global_batch(knobs));
    const double scale = 500 * luck * std::pow(batch / 8, 1 / 3.0);  // 64: twice
    const auto steps = static_cast<std::int64_t>(trial.samples_per_second * seconds / batch);
    for (std::int64_t step = 1; step <= steps; ++step) {
      const double samples = static_cast<double>(step - 1) * batch;
      LearningPoint point{samples, batch, 20 * std::exp(-samples / scale), 0, 0};
      if (ask_.gradients) {  // a noise scale of 24 samples
        point.part_square = 1 + 24 * learning_parts(knobs) / batch;
        point.whole_square = 1 + 24 / batch;
      }
      trial.learning.points.push_back(point);
    }
  }

  LearningAsk ask_;
  CountingClock& clock_;
  std::vector<LearningAsk>& learned_;
};

class LearningTrialsTest : public SessionBed {
 protected:
  void SetUp() override {
    SessionBed::SetUp();
    doors_.runner = [this](const Job& job, const SearchRequest&, const Machine&) {
      return Result<std::unique_ptr<Runner>>(
          std::make_unique<LearningMachine>(job.training().learning, clock_, learned_));
    };
  }

  Result<RunRecord> tuned(double learning_seconds) {
    TuneRequest request;
    SearchRequest& search = request.search;
    search.axes = {{"nproc", {"1", "2"}},
                   {"threads", {"1"}},
                   {"workers", {"0"}},
                   {"binding", {"none"}},
                   {"precision", {"fp32"}}};
    search.baseline.batch = 8;
    search.budget_seconds = 120;
    search.trial_seconds = 1;
    search.learning_seconds = learning_seconds;
    if (lists_batches_) search.axes["batch"] = {"8", "16"};
    request.job = training_job(label_file_, 4000);
    request.machine = machine_;
    return tune(request, *store_, observer_, doors_);
  }

  SessionObserver observer_;
  std::string label_file_;
  bool lists_batches_ = false;
  std::vector<LearningAsk> learned_;  // of the trials that watch how they learn
};

TEST_F(LearningTrialsTest, BothRecipesTrainFromThreeStartsAndTheAnswerComparesThem) {
  label_file_ = join_path(folder_, "labels.txt");
  const auto run = tuned(60);
  ASSERT_TRUE(run) << run.error().what;
  ASSERT_TRUE(run->result.beyond_recipe.has_value());
  const BeyondRecipe& beyond = *run->result.beyond_recipe;
  ASSERT_EQ(run->learning.size(), 6U);
  ASSERT_EQ(learned_.size(), 6U);
  const double growth = std::sqrt(static_cast<double>(beyond.global_batch) / 8);
  for (std::size_t i = 0; i < learned_.size(); ++i) {
    EXPECT_EQ(learned_[i].seed, i / 2 + 1);
    EXPECT_DOUBLE_EQ(learned_[i].rate_factor, i % 2 == 0 ? 1 : growth);
    EXPECT_EQ(global_batch(run->learning[i].knobs), i % 2 == 0 ? 8 : beyond.global_batch);
    EXPECT_EQ(run->learning[i].phase, kLearningPhase);
  }
  ASSERT_TRUE(beyond.worth.has_value());
  const double efficiency = std::pow(static_cast<double>(beyond.global_batch) / 8, -1 / 3.0);
  EXPECT_NEAR(beyond.worth->efficiency.median, efficiency, 0.08 * efficiency);
  EXPECT_NEAR(beyond.worth->speedup.median, beyond.ratio.median * efficiency, 0.15);
  EXPECT_EQ(beyond.worth->starts, kLearningStarts);
  for (const Trial& trial : run->trials) EXPECT_NE(trial.phase, kLearningPhase);

  const auto kept = judged_run(*store_, "last");
  ASSERT_TRUE(kept) << kept.error().what;
  ASSERT_EQ(kept->learning.size(), 6U);
  EXPECT_EQ(kept->learning[3].learning.points.size(), run->learning[3].learning.points.size());
  ASSERT_TRUE(kept->result.beyond_recipe && kept->result.beyond_recipe->worth);
  EXPECT_EQ(kept->result.beyond_recipe->worth->speedup.median, beyond.worth->speedup.median);
  EXPECT_TRUE(learning_trials(*kept).empty()) << "they are in the store";
}

TEST_F(LearningTrialsTest, WithoutAProofAShareOfTheBudgetGoesToTheGradients) {
  label_file_ = join_path(folder_, "labels.txt");
  const double before = clock_.now_seconds();
  const auto run = tuned(0);
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_LE(clock_.now_seconds() - before, 1.05 * 120);
  ASSERT_TRUE(run->result.beyond_recipe.has_value());
  ASSERT_EQ(run->learning.size(), 1U);
  EXPECT_EQ(run->learning[0].knobs, run->result.recommendation.knobs);
  EXPECT_GE(run->learning[0].learning.parts, 2);
  ASSERT_TRUE(run->result.beyond_recipe->worth.has_value());
  const LearningWorth& worth = *run->result.beyond_recipe->worth;
  EXPECT_FALSE(worth.proved);
  EXPECT_NEAR(worth.noise_samples, 24, 0.1);
  const auto batch = static_cast<double>(run->result.beyond_recipe->global_batch);
  EXPECT_NEAR(worth.efficiency.median, 32 / (24 + batch), 0.01);
}

TEST_F(LearningTrialsTest, AProofWithoutALossOrAPresentRecipeIsRefusedBeforeTheFirstTrial) {
  const auto drawn = tuned(60);
  ASSERT_FALSE(drawn.ok());
  EXPECT_THAT(drawn.error().what, testing::HasSubstr("training that prints a loss"));
  label_file_ = join_path(folder_, "labels.txt");
  lists_batches_ = true;
  const auto freed = tuned(60);
  ASSERT_FALSE(freed.ok());
  EXPECT_THAT(freed.error().what, testing::HasSubstr("leave --batch and --accumulate out"));
}

// Of a proof by `command`, whose recipe of 8 samples stands beside one of 64.
RunRecord proof_of(std::vector<std::string> command) {
  RunRecord run;
  run.job = command_job(std::move(command));
  run.search.learning_seconds = 60;
  Trial started;
  started.outcome = Outcome::ok;
  started.start_seconds = 4;
  run.trials = {started, started};
  run.result.recommendation.knobs.batch = 8;
  run.result.recipe_batch = 8;
  Knobs other = run.result.recommendation.knobs;
  other.batch = 64;
  run.result.beyond_recipe = {other, {2, 1.9, 2.1}, 64, {}};
  return run;
}

TEST(LearningTrials, ACommandTrainsByItsOwnLearningRateFromThreeSeeds) {
  RunRecord run = proof_of({"python3", "train.py", "--batch={batch}", "--seed={seed}"});
  const std::vector<LearningTrial> trials = learning_trials(run);
  ASSERT_EQ(trials.size(), 6U);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    EXPECT_EQ(trials[i].knobs.batch, i % 2 == 0 ? 8 : 64);
    EXPECT_EQ(trials[i].ask.seed, i / 2 + 1);
    EXPECT_EQ(trials[i].ask.rate_factor, 0) << "the command sets it";
    EXPECT_DOUBLE_EQ(trials[i].seconds, 6) << "its start counts";
  }
  const Job job = learning_job(run.job, trials[5].ask);
  EXPECT_TRUE(job.program().learning.watches);
  const auto filled = fill_for(job.program(), Machine(), trials[5].knobs, TrialPlace());
  ASSERT_TRUE(filled) << filled.error().what;
  EXPECT_EQ(filled->launch.arguments.back(), "--seed=3");
  run.result.beyond_recipe.reset();
  EXPECT_TRUE(learning_trials(run).empty()) << "nothing is faster by another recipe";
}

TEST(LearningTrials, ACommandThatTakesTheFactorOfTheRateTrainsByTheRule) {
  const RunRecord run = proof_of({"train", "--batch={batch}", "--lr-scale={rate_factor}"});
  const std::vector<LearningTrial> trials = learning_trials(run);
  ASSERT_EQ(trials.size(), 6U);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    EXPECT_DOUBLE_EQ(trials[i].ask.rate_factor, i % 2 == 0 ? 1 : std::sqrt(8));
    const Job job = learning_job(run.job, trials[i].ask);
    const auto filled = fill_for(job.program(), Machine(), trials[i].knobs, TrialPlace());
    ASSERT_TRUE(filled) << filled.error().what;
    EXPECT_EQ(filled->launch.arguments.back(), i % 2 == 0 ? "--lr-scale=1" : "--lr-scale=2.82843");
  }
}

TEST(LearningTrials, AModelOfOursLearnsFromLinesAlone) {
  ExternalJob in_paddle;
  in_paddle.in_paddle = true;
  EXPECT_FALSE(learns({in_paddle})) << "one drawn batch, again and again";
  in_paddle.training.label_file = "lines/labels.txt";
  EXPECT_TRUE(learns({in_paddle}));
}

TEST_F(LearningTrialsTest, NothingTrainsTwiceWithoutBeingAsked) {
  const auto run = tuned(0);
  ASSERT_TRUE(run) << run.error().what;
  ASSERT_TRUE(run->result.beyond_recipe.has_value());
  EXPECT_FALSE(run->result.beyond_recipe->worth.has_value());
  EXPECT_TRUE(learned_.empty());
}

}  // namespace
}  // namespace ocrtune
