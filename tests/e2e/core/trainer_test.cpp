#include "core/train/trainer.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/random.h"
#include "base/text.h"
#include "core/backends/backend_table.h"
#include "core/backends/onednn/onednn_conv.h"
#include "core/backends/onednn/rows.h"
#include "core/comm/shm_comm.h"
#include "core/graph/network.h"
#include "core/infer/recognizer.h"
#include "core/models/model.h"
#include "core/onnx/onnx_recognizer.h"
#include "tests/support/forked_ranks.h"
#include "tests/support/onnx_writer.h"

namespace ocrtune {
namespace {

TrainerOptions small_options() {
  TrainerOptions options;
  options.batch = 4;
  options.width = 64;
  options.classes = 11;
  return options;
}

Batch draw_batch(const TrainerOptions& options, int label_length = 3, std::uint64_t seed = 7) {
  Random random(seed);
  return noise_batch({options.batch, options.height, options.width}, random, label_length,
                     options.classes);
}

std::unique_ptr<Trainer> make(const TrainerOptions& options, Comm& comm) {
  auto trainer = Trainer::create(options, comm);
  EXPECT_TRUE(trainer.ok()) << (trainer ? "" : trainer.error().what);
  return std::move(*trainer);
}

TEST(Trainer, AgreesWithTheReferenceBeforeAndAfterSteps) {
  const TrainerOptions options = small_options();
  const auto comm = make_single_comm();
  const auto trainer = make(options, *comm);
  for (int round = 0; round < 2; ++round) {
    const auto error = trainer->check_against_reference();
    ASSERT_TRUE(error.ok());
    EXPECT_LT(*error, 1e-3);
    EXPECT_GT(*error, 0);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(trainer->step(draw_batch(options)).ok());
  }
}

TEST(Trainer, CheckLeavesEverythingAsItWas) {
  const TrainerOptions options = small_options();
  const auto comm = make_single_comm(), other_comm = make_single_comm();
  const auto checked = make(options, *comm), plain = make(options, *other_comm);
  const Batch batch = draw_batch(options);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(checked->check_against_reference().ok());
    EXPECT_EQ(checked->step(batch)->loss, plain->step(batch)->loss);
  }
  EXPECT_EQ(*checked->logits(batch), *plain->logits(batch));
}

TEST(Trainer, WatchedGradientsAreThoseOfPartsAndOfTheirMean) {
  TrainerOptions options = small_options();
  options.accumulate = 2;
  options.watch_gradients = true;
  const auto comm = make_single_comm();
  const auto trainer = make(options, *comm);
  const Batch batch = draw_batch(options), other = draw_batch(options, 3, 8);
  const auto first = trainer->step(batch);
  EXPECT_EQ(first->whole_square, 0) << "the weights have not changed";
  const auto twice = trainer->step(batch);
  EXPECT_GT(twice->whole_square, 0);
  EXPECT_NEAR(twice->part_square, twice->whole_square, 1e-4 * twice->whole_square)
      << "of the same batch twice";
  ASSERT_TRUE(trainer->step(batch).ok());
  const auto mixed = trainer->step(other);
  EXPECT_GT(mixed->part_square, 1.0001 * mixed->whole_square) << "two batches differ";
  const TrainerOptions plain = small_options();
  const auto alone = make_single_comm();
  const auto unwatched = make(plain, *alone);
  EXPECT_EQ(unwatched->step(batch)->part_square, 0);
}

TEST(Trainer, GoesOnWithAnImportedModel) {
  const std::string folder = *make_temporary_directory("trainer");
  TrainerOptions options = small_options();
  options.model = folder + "/tiny.onnx";
  options.height = 16;
  options.classes = 5;
  options.learning_rate = 0.01;
  ASSERT_TRUE(write_file(options.model, tiny_recognizer_with("0\n1\n2\n3", 5)).ok());
  const auto comm = make_single_comm();
  const auto trainer = make(options, *comm);
  EXPECT_LT(trainer->check_against_reference().value_or(1), 1e-3);
  const Batch batch = draw_batch(options);
  const auto file = load_onnx_recognizer(options.model, {}).value();
  const auto backend = make_backend({"reference", "fp32"}).value();
  Network imported(file.graph, *backend);
  const auto own = imported.infer(batch, file.parameters, file.statistics).value();
  const auto begun = steps_first(own, 4, 5), ours = trainer->logits(batch).value();
  for (std::size_t i = 0; i < begun.size(); ++i) ASSERT_NEAR(ours[i], begun[i], 1e-4) << i;

  const double before = trainer->step(batch)->loss;
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(trainer->step(batch).ok());
  EXPECT_LT(trainer->step(batch)->loss, before / 2);
  const std::string checkpoint = folder + "/tuned";
  ASSERT_TRUE(trainer->save(checkpoint).ok());
  RecognizerOptions reading;
  reading.model = options.model;
  reading.height = 16;
  reading.checkpoint = checkpoint;
  EXPECT_TRUE(Recognizer::create(reading, file.alphabet).ok());
  options.classes = 6;
  EXPECT_EQ(Trainer::create(options, *comm).error().kind, ErrorKind::usage);
  ASSERT_TRUE(remove_tree(folder).ok());
}

TEST(Trainer, LearnsOneBatchByHeart) {
  TrainerOptions options = small_options();
  options.learning_rate = 3e-3;
  const auto comm = make_single_comm();
  const auto trainer = make(options, *comm);
  const Batch batch = draw_batch(options);
  const double first = trainer->step(batch)->loss;
  double last = first;
  for (int i = 0; i < 60; ++i) last = trainer->step(batch)->loss;
  EXPECT_GT(first, 5);
  EXPECT_LT(last, 0.2 * first);
}

TEST(Trainer, TakesSmallerBatchesAndImages) {
  const TrainerOptions options = small_options();
  const auto comm = make_single_comm();
  const auto trainer = make(options, *comm);
  TrainerOptions smaller = options;
  smaller.batch = 3;
  smaller.width = 48;
  EXPECT_TRUE(trainer->step(draw_batch(smaller)).ok());
  EXPECT_TRUE(trainer->step(draw_batch(options)).ok());
  EXPECT_EQ(trainer->logits(draw_batch(smaller))->size(), 12U * 3U * 11U);
}

TEST(Trainer, ReportsItsTimes) {
  const TrainerOptions options = small_options();
  const auto comm = make_single_comm();
  const auto report = make(options, *comm)->step(draw_batch(options));
  ASSERT_TRUE(report.ok());
  EXPECT_GT(report->compute_seconds, 0);
  EXPECT_GE(report->all_reduce_seconds, 0);
  EXPECT_EQ(report->wait_seconds, 0);
}

TEST(Trainer, CountsLabelsThatCannotBeSpelt) {
  const TrainerOptions options = small_options();
  const auto comm = make_single_comm();
  const auto trainer = make(options, *comm);
  Batch batch = draw_batch(options);
  batch.labels[1].assign(17, 1);  // T is 16
  const auto report = trainer->step(batch);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->impossible_labels, 1);
  EXPECT_TRUE(std::isfinite(report->loss));
  EXPECT_TRUE(std::isfinite(trainer->step(draw_batch(options))->loss));
}

TEST(Trainer, RefusesWhatItWasNotMadeFor) {
  const TrainerOptions options = small_options();
  const auto comm = make_single_comm();
  const auto trainer = make(options, *comm);
  TrainerOptions wide = options;
  wide.width = 68;
  EXPECT_EQ(trainer->step(draw_batch(wide)).error().kind, ErrorKind::usage);
  Batch strange = draw_batch(options);
  strange.labels[0][0] = 11;
  EXPECT_EQ(trainer->step(strange).error().kind, ErrorKind::usage);
  Batch torn = draw_batch(options);
  torn.images.pop_back();
  EXPECT_EQ(trainer->step(torn).error().kind, ErrorKind::usage);
}

TEST(Trainer, RefusesUnknownNamesAndImpossibleSizes) {
  const auto comm = make_single_comm();
  TrainerOptions options = small_options();
  options.model = "crn";
  const auto unknown = Trainer::create(options, *comm);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().what, "model crn: did you mean crnn?");
  options = small_options();
  options.backend = "cudnn";
  EXPECT_EQ(Trainer::create(options, *comm).error().kind, ErrorKind::usage);
  options = small_options();
  options.precision = "int3";
  EXPECT_EQ(Trainer::create(options, *comm).error().kind, ErrorKind::usage);
  options = small_options();
  options.height = 4;
  const auto flat = Trainer::create(options, *comm);
  ASSERT_FALSE(flat.ok());
  EXPECT_EQ(flat.error().kind, ErrorKind::usage);
  options = small_options();
  options.threads = 0;
  EXPECT_EQ(Trainer::create(options, *comm).error().kind, ErrorKind::usage);
}

TEST(Trainer, OffersBf16OnlyWhereItIsNative) {
  const auto comm = make_single_comm();
  TrainerOptions options = small_options();
  options.precision = "bf16";
  const auto trainer = Trainer::create(options, *comm);
  if (has_native_bf16()) {
    ASSERT_TRUE(trainer.ok());
    const auto error = (*trainer)->check_against_reference();
    ASSERT_TRUE(error.ok());
    EXPECT_LT(*error, 0.2);  // eight bits of mantissa
    EXPECT_GT(*error, 1e-4);
  } else {
    ASSERT_FALSE(trainer.ok());
    EXPECT_EQ(trainer.error().kind, ErrorKind::unsupported);
  }
}

// What each of two ranks that share memory says after `work` with its trainer.
template <typename Work>
auto train_on_two_ranks(const TrainerOptions& options, const Work& work) {
  const std::string segment = new_segment_name();
  return fork_ranks(2, [&](int rank) -> std::string {
    ShmCommOptions shm;
    shm.segment = segment;
    shm.place = RankPlace{rank, 2, rank, 2, 0, 1};
    const auto comm = make_shm_comm(shm);
    if (!comm) return comm.error().what;
    const auto trainer = Trainer::create(options, **comm);
    if (!trainer) return trainer.error().what;
    return work(rank, **trainer);
  });
}

// Batch norm measures each rank's own batch. Where both ranks hold the same samples that is what
// one rank measures on both halves, so the steps must be the same.
TEST(Trainer, TwoRanksStepLikeOneWithBothHalves) {
  TrainerOptions half = small_options();
  half.batch = 2;
  const Batch part = draw_batch(half);
  const auto ends = train_on_two_ranks(half, [&](int, Trainer& trainer) -> std::string {
    std::string losses;
    for (int i = 0; i < 4; ++i) {
      const auto report = trainer.step(part);
      if (!report) return report.error().what;
      losses += std::to_string(report->loss) + " ";
    }
    return losses;
  });
  TrainerOptions whole = half;
  whole.batch = 4;
  Batch both = part;
  both.count = 4;
  both.images.insert(both.images.end(), part.images.begin(), part.images.end());
  both.labels.insert(both.labels.end(), part.labels.begin(), part.labels.end());
  const auto comm = make_single_comm();
  const auto trainer = make(whole, *comm);
  std::istringstream first(ends[0].said), second(ends[1].said);
  for (int i = 0; i < 4; ++i) {
    const double loss = trainer->step(both)->loss;
    double ranks[2] = {};
    ASSERT_TRUE(first >> ranks[0]) << ends[0].said;
    ASSERT_TRUE(second >> ranks[1]) << ends[1].said;
    EXPECT_NEAR(ranks[0] / loss, 1, 1e-3);
    EXPECT_EQ(ranks[0], ranks[1]);
  }
}

// Losses of five steps, exactly, of two ranks whose batches differ; each step of them is as many as
// the weights wait for.
std::vector<std::string> losses_of_two_ranks(TrainerOptions options) {
  options.batch = 2;
  const std::string segment = new_segment_name();
  std::vector<std::string> said;
  for (const RankEnd& end : fork_ranks(2, [&](int rank) -> std::string {
         ShmCommOptions shm;
         shm.segment = segment;
         shm.place = RankPlace{rank, 2, rank, 2, 0, 1};
         const auto comm = make_shm_comm(shm);
         if (!comm) return comm.error().what;
         const auto trainer = Trainer::create(options, **comm);
         if (!trainer) return trainer.error().what;
         const Batch batch = draw_batch(options, 3, 7 + static_cast<std::uint64_t>(rank));
         std::ostringstream losses;
         for (int i = 0; i < 5 * options.accumulate; ++i) {
           const auto report = (*trainer)->step(batch);
           if (!report) return report.error().what;
           if (i % options.accumulate == 0) losses << std::hexfloat << report->loss << ' ';
         }
         return losses.str();
       })) {
    said.push_back(end.said);
  }
  return said;
}

TEST(Trainer, AveragingBetweenTheLayersOfBackwardChangesNoBit) {
  for (const char* model : {"crnn", "svtrv2-small"}) {
    TrainerOptions options = small_options();
    options.model = model;
    const auto after = losses_of_two_ranks(options);
    EXPECT_NE(after[0], after[1]) << "batches must differ";
    EXPECT_EQ(words(after[0]).size(), 5U) << after[0];
    for (const std::size_t bytes : {1UL, 4096UL, 1UL << 20, 1UL << 40}) {
      options.bucket_bytes = bytes;
      EXPECT_EQ(losses_of_two_ranks(options), after) << model << ", parts of " << bytes;
    }
  }
}

// What two ranks see at once, one may see in two steps.
TEST(Trainer, AccumulatingTwoStepsIsATwoRankStepToTheBit) {
  TrainerOptions options = small_options();
  const auto of_ranks = losses_of_two_ranks(options);
  options.batch = 2;
  options.accumulate = 2;
  const auto comm = make_single_comm();
  const auto trainer = make(options, *comm);
  std::ostringstream said[2];
  for (int i = 0; i < 10; ++i) {
    const auto report = trainer->step(draw_batch(options, 3, 7 + i % 2));
    ASSERT_TRUE(report.ok());
    said[i % 2] << std::hexfloat << report->loss << ' ';
  }
  EXPECT_EQ(said[0].str(), of_ranks[0]);
  EXPECT_EQ(said[1].str(), of_ranks[1]);
  EXPECT_EQ(trainer->steps(), 5) << "updates of the weights";
}

TEST(Trainer, RanksThatAccumulateExchangeOnceInSoManySteps) {
  TrainerOptions options = small_options();
  options.accumulate = 2;
  const auto after = losses_of_two_ranks(options);
  EXPECT_EQ(words(after[0]).size(), 5U) << after[0];
  EXPECT_EQ(after, losses_of_two_ranks(small_options())) << "the same batch twice is that batch";
  for (const std::size_t bytes : {4096UL, 1UL << 20}) {
    options.bucket_bytes = bytes;
    EXPECT_EQ(losses_of_two_ranks(options), after) << "parts of " << bytes;
  }
  const std::uint64_t held = *Trainer::footprint_bytes(options);
  options.accumulate = 1;
  EXPECT_GT(held, *Trainer::footprint_bytes(options));
  options.accumulate = 0;
  EXPECT_FALSE(Trainer::footprint_bytes(options).ok());
}

// After batches of their own, both read a common one to the same bit: the weights are the same.
TEST(Trainer, ScheduledAndClippedRanksStayIdentical) {
  TrainerOptions options = small_options();
  options.schedule = "cosine";
  options.warm_up_steps = 2;
  options.schedule_steps = 6;
  options.clip_norm = 0.5;
  options.weight_decay = 0.05;
  options.batch = 2;
  const auto ends = train_on_two_ranks(options, [&](int rank, Trainer& trainer) -> std::string {
    for (int i = 0; i < 5; ++i) {
      const auto own =
          trainer.step(draw_batch(options, 3, static_cast<std::uint64_t>(2 * i + rank)));
      if (!own) return own.error().what;
    }
    const auto common = trainer.step(draw_batch(options));
    if (!common) return common.error().what;
    std::ostringstream said;
    said << std::hexfloat << common->loss;
    return said.str();
  });
  EXPECT_EQ(ends[0].said, ends[1].said);
  EXPECT_GT(std::strtod(ends[0].said.c_str(), nullptr), 0) << ends[0].said;
}

TEST(Trainer, SaysThatTheLossIsNoNumber) {
  const TrainerOptions options = small_options();
  const auto comm = make_single_comm();
  const auto trainer = make(options, *comm);
  Batch batch = draw_batch(options);
  batch.images[5] = std::numeric_limits<float>::quiet_NaN();
  const auto report = trainer->step(batch);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(std::isnan(report->loss));
  EXPECT_EQ(report->impossible_labels, 0);
}

double resident_bytes() {
  const std::string statm = *read_file("/proc/self/statm");
  return std::stod(words(statm)[1]) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Runs the current test again in a process that ran no other before, whose heap and library pages
// would count; true in the process that asked.
bool ran_alone() {
  constexpr const char* kAlone = "OCRTUNE_TEST_ALONE";
  if (std::getenv(kAlone) != nullptr) return false;
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string filter =
      std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
  const int pid = ::fork();
  if (pid == 0) {
    ::setenv(kAlone, "1", 1);
    ::execl("/proc/self/exe", "core_tests", filter.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0) << "the test failed in a process of its own";
  return true;
}

// Compares what a fresh process grows by with what was planned, within 5 % or 3 MiB: that much of a
// library's code differs by instruction set. Named Plain: sanitizers take memory, too.
void expect_grows_as_planned(const TrainerOptions& options) {
  const auto ends = fork_ranks(1, [&](int) -> std::string {
    const auto planned = Trainer::footprint_bytes(options);
    if (!planned) return planned.error().what;
    std::vector<Batch> batches;
    for (const BatchShape& shape :
         batch_shapes(options.batch, options.height, options.width, options.heights)) {
      TrainerOptions own = options;
      own.batch = shape.count;
      own.height = shape.height;
      batches.push_back(draw_batch(own));
    }
    const double before = resident_bytes();
    const auto comm = make_single_comm();
    const auto trainer = Trainer::create(options, *comm);
    if (!trainer) return trainer.error().what;
    for (int i = 0; i < 2; ++i) {
      for (const Batch& batch : batches) {
        if (const auto report = (*trainer)->step(batch); !report) return report.error().what;
      }
    }
    const double grown = resident_bytes() - before, bytes = static_cast<double>(*planned);
    if (std::abs(grown - bytes) <= std::max(0.05 * bytes, 3.0 * (1 << 20))) return "as planned";
    return fmt::format("planned {:.0f} bytes, grew by {:.0f}", bytes, grown);
  });
  EXPECT_EQ(ends[0].said, "as planned");
}

TEST(PlainTrainer, FootprintIsWhatAProcessGrowsByForEveryModel) {
  if (ran_alone()) return;
  for (const ModelRow& model : model_table()) {
    const bool large = model.build(97).parameter_count() > 10'000'000;
    for (const int batch : large ? std::vector{1, 2} : std::vector{2, 6}) {
      SCOPED_TRACE(std::string(model.name) + " batch " + std::to_string(batch));
      TrainerOptions options;
      options.model = model.name;
      options.batch = batch;
      options.height = model.height;
      options.width = model.width;
      expect_grows_as_planned(options);
    }
  }
}

TEST(PlainTrainer, FootprintOfMultiScaleBatchesIsTheWorstOne) {
  if (ran_alone()) return;
  TrainerOptions options;
  options.model = "svtrv2-small";
  options.batch = 6;
  options.height = 64;
  options.heights = {32, 48, 64};
  expect_grows_as_planned(options);
}

TEST(PlainTrainer, SaysWhenMemoryIsShort) {
  if (ran_alone()) return;
  TrainerOptions options;
  options.batch = 64;
  const auto ends = fork_ranks(1, [&](int) -> std::string {
    const rlimit limit{200U << 20, 200U << 20};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) return "setrlimit";
    const auto comm = make_single_comm();
    const auto trainer = Trainer::create(options, *comm);
    if (trainer) return "made";
    return trainer.error().kind == ErrorKind::exhausted ? "exhausted" : trainer.error().what;
  });
  EXPECT_EQ(ends[0].said, "exhausted");
}

TEST(Trainer, GoesOnFromACheckpoint) {
  const TrainerOptions options = small_options();
  const auto comm = make_single_comm(), other_comm = make_single_comm();
  const auto first = make(options, *comm), second = make(options, *other_comm);
  const Batch batch = draw_batch(options);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(first->step(batch).ok());
  const std::string folder = *make_temporary_directory("trainer");
  const std::string path = join_path(folder, "model.ckpt");
  ASSERT_TRUE(first->save(path).ok());
  ASSERT_TRUE(second->load(path).ok());
  EXPECT_EQ(first->step(batch)->loss, second->step(batch)->loss);
  EXPECT_EQ(first->step(batch)->loss, second->step(batch)->loss);
  EXPECT_EQ(*first->logits(batch), *second->logits(batch));
  ASSERT_TRUE(remove_tree(folder).ok());
}

TEST(Trainer, RefusesDamagedAndForeignCheckpoints) {
  const TrainerOptions options = small_options();
  const auto comm = make_single_comm(), other_comm = make_single_comm();
  const auto trainer = make(options, *comm);
  const Batch batch = draw_batch(options);
  const auto before = *trainer->logits(batch);
  const std::string folder = *make_temporary_directory("trainer");
  const std::string path = join_path(folder, "model.ckpt");
  ASSERT_TRUE(trainer->save(path).ok());
  const std::string whole = *read_file(path);
  const auto refuse = [&](const std::string& contents, const std::string& reason) {
    ASSERT_TRUE(write_file(path, contents).ok());
    const Status loaded = trainer->load(path);
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().kind, ErrorKind::invalid);
    EXPECT_NE(loaded.error().what.find(reason), std::string::npos) << loaded.error().what;
  };
  refuse(whole.substr(0, whole.size() / 2), "truncated");
  refuse("", "not a checkpoint");
  refuse("PNG and then some", "not a checkpoint");
  std::string flipped = whole;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
  refuse(flipped, "damaged");
  TrainerOptions other = options;
  other.classes = 12;
  ASSERT_TRUE(make(other, *other_comm)->save(path).ok());
  const Status external = trainer->load(path);
  ASSERT_FALSE(external.ok());
  EXPECT_EQ(external.error().kind, ErrorKind::invalid);
  EXPECT_EQ(trainer->load(join_path(folder, "absent")).error().kind, ErrorKind::missing);
  EXPECT_EQ(*trainer->logits(batch), before);
  ASSERT_TRUE(remove_tree(folder).ok());
}

}  // namespace
}  // namespace ocrtune
