#include "core/train/training_run.h"

#include <algorithm>
#include <csignal>
#include <functional>
#include <limits>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "core/comm/shm_comm.h"
#include "core/graph/checkpoint.h"
#include "core/synth/fonts.h"
#include "core/synth/line_dataset.h"
#include "tests/support/forked_ranks.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

class TrainingRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("training");
    if (find_fonts(font_folders())->empty()) GTEST_SKIP() << "no fonts are installed";
  }
  void TearDown() override { (void)remove_tree(folder_); }

  // Draws lines and gives their label file.
  std::string lines(const std::string& name, int count, std::uint64_t seed,
                    const std::string& alphabet = "0123ab") {
    DatasetOptions dataset;
    dataset.folder = folder_ + "/" + name;
    dataset.alphabet = *Alphabet::from_text(alphabet);
    dataset.count = count;
    dataset.draw.seed = seed;
    dataset.draw.max_length = 3;
    dataset.draw.fonts = *find_fonts(font_folders());
    dataset.draw.fonts.resize(std::min<std::size_t>(dataset.draw.fonts.size(), 8));
    EXPECT_TRUE(draw_dataset(dataset, nullptr));
    return dataset.folder + "/labels.txt";
  }
  TrainingRunOptions options(const std::string& labels, std::int64_t steps) {
    TrainingRunOptions options;
    options.loader.label_file = labels;
    options.loader.batch = 4;
    options.loader.width = 32;
    options.steps = steps;
    options.checkpoint = folder_ + "/a.ckpt";
    return options;
  }
  std::string folder_;
};

TEST_F(TrainingRunTest, AResumedRunEndsLikeOneThatWasNeverStopped) {
  const std::string labels = lines("lines", 30, 1);
  const auto quiet = [](const TrainingProgress&) {};
  TrainingRunOptions whole = options(labels, 6);
  whole.checkpoint = folder_ + "/whole.ckpt";
  ASSERT_TRUE(run_training(whole, quiet));
  const auto half = run_training(options(labels, 3), quiet);
  ASSERT_TRUE(half) << half.error().what;
  EXPECT_EQ(half->steps, 3);
  TrainingRunOptions rest = options(labels, 6);
  rest.resume = rest.checkpoint;
  rest.loader.workers = 2;
  const auto resumed = run_training(rest, quiet);
  ASSERT_TRUE(resumed) << resumed.error().what;
  EXPECT_EQ(resumed->steps, 6);
  EXPECT_EQ(resumed->counts.good, 12);
  EXPECT_EQ(*read_file(rest.checkpoint), *read_file(whole.checkpoint));
  EXPECT_EQ(read_checkpoint_head(rest.checkpoint)->steps, 6);
}

// The rates go by the step alone: what follows a kill -9 has those of the run that was not killed.
TEST_F(TrainingRunTest, ARunKilledWithinItsScheduleGoesOnWithTheSameLosses) {
  TrainingRunOptions run = options(lines("lines", 30, 1), 8);
  run.trainer.schedule = "cosine";
  run.trainer.warm_up_steps = 3;
  run.trainer.weight_decay = 0.05;
  run.trainer.clip_norm = 2;
  run.report_every = run.save_every = 1;
  std::vector<double> losses;
  const auto note = [&](const TrainingProgress& progress) { losses.push_back(progress.loss); };
  const auto ends = fork_ranks(1, [&](int) -> std::string {
    const auto ended = run_training(run, [](const TrainingProgress& progress) {
      if (progress.step == 6) ::raise(SIGKILL);  // step 5 is the last that was saved
    });
    return ended ? "was not killed" : ended.error().what;
  });
  ASSERT_TRUE(ends[0].killed()) << ends[0].said;
  TrainingRunOptions rest = run, whole = run;
  rest.resume = run.checkpoint;
  ASSERT_TRUE(run_training(rest, note));
  const std::vector<double> after = std::exchange(losses, {});
  whole.checkpoint = folder_ + "/whole.ckpt";
  ASSERT_TRUE(run_training(whole, note));
  ASSERT_EQ(losses.size(), 8U);
  EXPECT_EQ(after, std::vector<double>(losses.begin() + 5, losses.end()));
  EXPECT_EQ(*read_file(rest.checkpoint), *read_file(whole.checkpoint));

  const std::vector<double> falling = std::exchange(losses, {});
  whole.trainer.schedule = "constant";
  ASSERT_TRUE(run_training(whole, note));
  EXPECT_EQ(losses[4], falling[4]);  // the weights of four steps, all at the peak or below
  EXPECT_NE(losses[6], falling[6]) << "the schedule changes nothing";
}

TEST_F(TrainingRunTest, RefusesRatesThatMakeNoSense) {
  const TrainingRunOptions run = options(lines("lines", 30, 1), 4);
  const auto complaint = [&](const std::function<void(TrainerOptions&)>& spoil) {
    TrainingRunOptions discarded = run;
    spoil(discarded.trainer);
    const auto refused = run_training(discarded, nullptr);
    EXPECT_FALSE(refused.ok());
    if (refused) return std::string();
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
    return refused.error().what;
  };
  const double no_number = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(complaint([&](auto& t) { t.learning_rate = no_number; }),
              HasSubstr("learning rate nan"));
  EXPECT_THAT(complaint([&](auto& t) { t.weight_decay = no_number; }),
              HasSubstr("weight decay nan"));
  EXPECT_THAT(complaint([&](auto& t) { t.weight_decay = -0.1; }), HasSubstr("weight decay -0.1"));
  EXPECT_THAT(complaint([&](auto& t) { t.clip_norm = -1; }), HasSubstr("gradient norm -1"));
  EXPECT_THAT(complaint([&](auto& t) { t.schedule = "cosin"; }), HasSubstr("did you mean cosine"));
  EXPECT_THAT(complaint([&](auto& t) {
                t.schedule = "cosine";
                t.warm_up_steps = 4;
              }),
              HasSubstr("no step left"));
  EXPECT_FALSE(path_exists(run.checkpoint));
}

TEST_F(TrainingRunTest, ADivergedRunEndsAtItsStepAndKeepsTheLastGoodCheckpoint) {
  TrainingRunOptions run = options(lines("lines", 30, 1), 50);
  run.trainer.learning_rate = 1e30;
  run.report_every = 50;
  run.save_every = 1;
  const auto diverged = run_training(run, [](const TrainingProgress&) {});
  ASSERT_FALSE(diverged.ok());
  EXPECT_EQ(diverged.error().kind, ErrorKind::failed);
  const std::int64_t kept = read_checkpoint_head(run.checkpoint)->steps;
  EXPECT_GE(kept, 1);
  EXPECT_LT(kept, 10);
  EXPECT_THAT(
      diverged.error().what,
      HasSubstr("diverged: the loss of step " + std::to_string(kept + 1) + " is no number; " +
                run.checkpoint + " holds step " + std::to_string(kept)));
}

// What each of two ranks that share memory says: its steps and counts, or its error.
std::vector<RankEnd> train_two_ranks(
    const TrainingRunOptions& options,
    const std::function<void(int rank, TrainingRunOptions& run)>& adjust = nullptr) {
  const std::string segment = new_segment_name();
  return fork_ranks(2, [&](int rank) -> std::string {
    TrainingRunOptions run = options;
    run.place = {rank, 2, rank, 2, 0, 1};
    run.make_comm = [&] {
      ShmCommOptions shm;
      shm.segment = segment;
      shm.place = run.place;
      return make_shm_comm(shm);
    };
    if (adjust) adjust(rank, run);
    int reports = 0;
    const auto done = run_training(run, [&](const TrainingProgress&) { ++reports; });
    if (!done) return done.error().what;
    return std::to_string(done->steps) + " steps, " + std::to_string(done->counts.good) +
           " lines, " + std::to_string(reports) + " reports";
  });
}

TEST_F(TrainingRunTest, RanksShareTheLinesAndGoOnFromOneCheckpoint) {
  const std::string labels = lines("lines", 30, 1);
  TrainingRunOptions whole = options(labels, 6);
  whole.report_every = 3;
  whole.checkpoint = folder_ + "/whole.ckpt";
  const auto ends = train_two_ranks(whole);
  EXPECT_EQ(ends[0].said, "6 steps, 24 lines, 2 reports");
  EXPECT_EQ(ends[1].said, "6 steps, 24 lines, 0 reports");
  EXPECT_EQ(train_two_ranks(options(labels, 3))[0].said, "3 steps, 12 lines, 1 reports");
  TrainingRunOptions rest = options(labels, 6);
  rest.resume = rest.checkpoint;
  EXPECT_EQ(train_two_ranks(rest)[1].said, "6 steps, 12 lines, 0 reports");
  EXPECT_EQ(*read_file(rest.checkpoint), *read_file(whole.checkpoint));
  // Twice the lines of one rank are not the same lines twice.
  TrainingRunOptions alone = options(labels, 6);
  alone.checkpoint = folder_ + "/alone.ckpt";
  ASSERT_TRUE(run_training(alone, [](const TrainingProgress&) {}));
  EXPECT_NE(*read_file(alone.checkpoint), *read_file(whole.checkpoint));
}

// Hands the trainer pixels that are no numbers at its third step.
class PoisonedTrainer final : public Trainer {
 public:
  explicit PoisonedTrainer(std::unique_ptr<Trainer> inner) : inner_(std::move(inner)) {}
  Result<StepReport> step(const Batch& batch) override {
    if (steps() < 2) return inner_->step(batch);
    Batch poisoned = batch;
    std::fill(poisoned.images.begin(), poisoned.images.end(),
              std::numeric_limits<float>::quiet_NaN());
    return inner_->step(poisoned);
  }
  Result<double> check_against_reference() override { return inner_->check_against_reference(); }
  Result<std::vector<float>> logits(const Batch& batch) override { return inner_->logits(batch); }
  std::size_t parameter_count() const override { return inner_->parameter_count(); }
  std::int64_t steps() const override { return inner_->steps(); }
  Status save(const std::string& path) const override { return inner_->save(path); }
  Status load(const std::string& path) override { return inner_->load(path); }

 private:
  std::unique_ptr<Trainer> inner_;
};

// Its own loss is still a number when the other rank's gradients have discarded its weights.
TEST_F(TrainingRunTest, ARankDoesNotKeepWhatAnotherHasSpoilt) {
  TrainingRunOptions run = options(lines("lines", 30, 1), 50);
  run.save_every = 1;
  const auto ends = train_two_ranks(run, [](int rank, TrainingRunOptions& one) {
    if (rank == 0) return;
    one.make_trainer = [](const TrainerOptions& trainer,
                          Comm& comm) -> Result<std::unique_ptr<Trainer>> {
      auto made = Trainer::create(trainer, comm);
      if (!made) return made.error();
      return std::unique_ptr<Trainer>(std::make_unique<PoisonedTrainer>(std::move(*made)));
    };
  });
  EXPECT_THAT(ends[1].said, HasSubstr("the loss of step 3 is no number"));
  EXPECT_THAT(ends[0].said, HasSubstr("the training diverged"));
  EXPECT_EQ(read_checkpoint_head(run.checkpoint)->steps, 2);
}

TEST_F(TrainingRunTest, TrainsOnMultiScaleBatches) {
  TrainingRunOptions run = options(lines("lines", 30, 1), 4);
  run.loader.heights = {32, 64};
  const auto outcome = run_training(run, [](const TrainingProgress&) {});
  ASSERT_TRUE(outcome) << outcome.error().what;
  EXPECT_EQ(outcome->steps, 4);
  EXPECT_EQ(outcome->counts.good, 2 * 4 + 2 * 2);  // two rounds of 4 at 32 and 2 at 64
}

TEST_F(TrainingRunTest, RefusesABatchThatCannotFitWithTheFigure) {
  TrainingRunOptions run = options(lines("lines", 30, 1), 5);
  run.loader.batch = 16;
  run.loader.width = 320;
  run.memory_bytes = 40U << 20;
  const auto refused = run_training(run, nullptr);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::exhausted);
  EXPECT_THAT(refused.error().what, HasSubstr("--batch 16 of model crnn would take"));
  EXPECT_THAT(refused.error().what, HasSubstr("40.0 MiB are available; --batch"));
  EXPECT_FALSE(path_exists(run.checkpoint));
  run.memory_bytes = 1U << 20;
  EXPECT_THAT(run_training(run, nullptr).error().what, HasSubstr("not even --batch 1 fits"));
}

TEST_F(TrainingRunTest, NamesACharacterThatTheAlphabetLacks) {
  TrainingRunOptions run = options(lines("lines", 60, 1), 2);
  run.loader.alphabet = "0123a";  // without b
  run.loader.max_bad_share = 1;
  const auto outcome = run_training(run, [](const TrainingProgress&) {});
  ASSERT_TRUE(outcome) << outcome.error().what;
  EXPECT_GT(outcome->counts.bad, 0);
  EXPECT_THAT(outcome->counts.bad_examples.at(0), HasSubstr("'b' is not in the alphabet"));
}

TEST_F(TrainingRunTest, ReportsAndSavesOnTheWay) {
  TrainingRunOptions run = options(lines("lines", 30, 1), 5);
  run.report_every = 2;
  run.save_every = 2;
  std::vector<std::int64_t> reported;
  ASSERT_TRUE(run_training(run, [&](const TrainingProgress& progress) {
    reported.push_back(progress.step);
    EXPECT_GT(progress.loss, 0);
    EXPECT_GT(progress.samples_per_second, 0);
    if (progress.step == 4) {  // saved after step 2
      EXPECT_EQ(read_checkpoint_head(run.checkpoint)->steps, 2);
    }
  }));
  EXPECT_EQ(reported, (std::vector<std::int64_t>{2, 4, 5}));
  EXPECT_EQ(*read_file(alphabet_path(run.checkpoint)), "0\n1\n2\n3\na\nb\n");
}

TEST_F(TrainingRunTest, RefusesToResumeFromWhatDoesNotFit) {
  const auto quiet = [](const TrainingProgress&) {};
  TrainingRunOptions run = options(lines("lines", 30, 1), 2);
  ASSERT_TRUE(run_training(run, quiet));
  TrainingRunOptions other = options(lines("other", 30, 1, "xyzwvu"), 4);
  other.resume = run.checkpoint;
  const auto external = run_training(other, quiet);
  ASSERT_FALSE(external);
  EXPECT_EQ(external.error().kind, ErrorKind::invalid);
  EXPECT_THAT(external.error().what, HasSubstr("another alphabet"));
  run.resume = folder_ + "/none.ckpt";
  EXPECT_EQ(run_training(run, quiet).error().kind, ErrorKind::missing);
  const std::string whole = *read_file(run.checkpoint);
  ASSERT_TRUE(write_file(folder_ + "/cut.ckpt", whole.substr(0, whole.size() / 2)));
  ASSERT_TRUE(
      write_file(folder_ + "/cut.ckpt.alphabet", *read_file(alphabet_path(run.checkpoint))));
  run.resume = folder_ + "/cut.ckpt";
  EXPECT_EQ(run_training(run, quiet).error().kind, ErrorKind::invalid);
  ASSERT_TRUE(write_file(run.resume, "no checkpoint"));
  EXPECT_EQ(run_training(run, quiet).error().kind, ErrorKind::invalid);
}

TEST_F(TrainingRunTest, CheckpointThatCannotBeWrittenIsNamed) {
  TrainingRunOptions run = options(lines("lines", 30, 1), 1);
  run.checkpoint = folder_ + "/no/such/folder/a.ckpt";
  const auto outcome = run_training(run, [](const TrainingProgress&) {});
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().what, HasSubstr(run.checkpoint));
}

// The whole path from drawn pictures to text: a few hundred steps from a fixed seed. A constant
// rate may end on a spike of the loss, whose step differs by instruction set.
TEST_F(TrainingRunTest, LearnsToReadDrawnLines) {
  TrainingRunOptions run = options(lines("lines", 1500, 1), 500);
  run.loader.batch = 8;
  run.loader.width = 64;
  run.trainer.learning_rate = 3e-3;
  run.trainer.schedule = "cosine";
  run.evaluation_labels = lines("held-out", 150, 2);
  const auto outcome = run_training(run, [](const TrainingProgress&) {});
  ASSERT_TRUE(outcome) << outcome.error().what;
  EXPECT_TRUE(outcome->evaluated);
  EXPECT_EQ(outcome->evaluation.lines, 150);
  EXPECT_LT(outcome->evaluation.rate(), 0.1);
}

}  // namespace
}  // namespace ocrtune
