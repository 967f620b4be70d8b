// The GPU core's training rank on the host: steps, exchange, checkpoints and memory by plan.
#include "core/gpu/device_trainer.h"

#include <omp.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/random.h"
#include "core/comm/shm_comm.h"
#include "core/gpu/device_footprint.h"
#include "core/models/model.h"
#include "tests/support/forked_ranks.h"
#include "tests/support/host_executor.h"

namespace ocrtune {
namespace {

using HostTrainer = device::DeviceTrainer<HostExecutor>;

TrainerOptions small() {
  TrainerOptions options;
  options.model = "crnn-mv3";
  options.classes = 12;
  options.batch = 2;
  options.width = 32;
  options.backend = "reference";
  return options;
}

Batch draw(const TrainerOptions& options, std::uint64_t seed, int label = 3) {
  Random random(seed);
  Batch batch;
  batch.count = options.batch;
  batch.height = options.height;
  batch.width = options.width;
  batch.images.resize(static_cast<std::size_t>(batch.count * 3 * batch.height * batch.width));
  for (float& pixel : batch.images) pixel = static_cast<float>(random.uniform(-1, 1));
  for (int n = 0; n < batch.count; ++n) {
    std::vector<int> symbols(static_cast<std::size_t>(label));
    for (int& symbol : symbols) symbol = static_cast<int>(random.integer(1, options.classes - 1));
    batch.labels.push_back(std::move(symbols));
  }
  return batch;
}

TEST(DeviceTrainer, StepsAsTheCpuTrainer) {
  const auto comm = make_single_comm();
  HostExecutor executor;
  auto ours = HostTrainer::create(small(), executor, *comm);
  ASSERT_TRUE(ours) << ours.error().what;
  auto theirs = Trainer::create(small(), *comm);
  ASSERT_TRUE(theirs);
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const Batch batch = draw(small(), seed);
    const auto a = (*ours)->step(batch);
    const auto b = (*theirs)->step(batch);
    ASSERT_TRUE(a) << a.error().what;
    ASSERT_TRUE(b);
    EXPECT_NEAR(a->loss, b->loss, 1e-3 * b->loss) << seed;
    EXPECT_GT(a->compute_seconds, 0);
    EXPECT_EQ(a->all_reduce_seconds, 0);
  }
  const auto error = (*ours)->check_against_reference();
  ASSERT_TRUE(error) << error.error().what;
  EXPECT_LT(*error, 0.01);
  EXPECT_EQ((*ours)->steps(), 2) << "the check is no step";
}

TEST(DeviceTrainer, CheckpointsAreTheCpuTrainers) {
  const auto folder = make_temporary_directory("device");
  ASSERT_TRUE(folder);
  const std::string path = join_path(*folder, "a.ckpt");
  const auto comm = make_single_comm();
  HostExecutor executor;
  auto ours = HostTrainer::create(small(), executor, *comm);
  ASSERT_TRUE(ours);
  ASSERT_TRUE((*ours)->step(draw(small(), 1)));
  ASSERT_TRUE((*ours)->save(path));
  auto theirs = Trainer::create(small(), *comm);
  ASSERT_TRUE(theirs);
  ASSERT_TRUE((*theirs)->load(path));
  EXPECT_EQ((*theirs)->steps(), 1);
  auto again = HostTrainer::create(small(), executor, *comm);
  ASSERT_TRUE(again);
  ASSERT_TRUE((*again)->load(path));
  const Batch batch = draw(small(), 2);
  const auto a = (*again)->logits(batch), b = (*theirs)->logits(batch);
  ASSERT_TRUE(a);
  ASSERT_TRUE(b);
  ASSERT_EQ(a->size(), b->size());
  for (std::size_t i = 0; i < a->size(); ++i) ASSERT_NEAR((*a)[i], (*b)[i], 1e-3) << i;
  // The moments came along: the next step of both is the same.
  const auto first = (*ours)->step(batch), second = (*again)->step(batch);
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_EQ(first->loss, second->loss);
  const auto one = (*ours)->logits(batch), two = (*again)->logits(batch);
  ASSERT_TRUE(one);
  ASSERT_TRUE(two);
  EXPECT_EQ(*one, *two);
  EXPECT_TRUE(remove_tree(*folder));
}

std::vector<float> two_ranks(std::size_t bucket_bytes, int steps = 1, bool replays = true) {
  const std::string segment = new_segment_name();
  const auto ends = fork_ranks(2, [&](int rank) -> std::string {
    omp_set_num_threads(1);  // a team of the parent's does not survive a fork
    ShmCommOptions shm;
    shm.segment = segment;
    shm.place = {rank, 2, rank, 2, 0, 1};
    auto comm = make_shm_comm(shm);
    if (!comm) return "comm";
    TrainerOptions options = small();
    options.bucket_bytes = bucket_bytes;
    HostExecutor executor;
    executor.replays = replays;
    auto trainer = HostTrainer::create(options, executor, **comm);
    if (!trainer) return "trainer";
    for (int step = 0; step < steps; ++step) {
      if (!(*trainer)->step(draw(options, static_cast<std::uint64_t>(2 * step + rank)))) {
        return "step";
      }
    }
    if (replays && steps > 2 &&
        executor.replayed < (bucket_bytes > 0 ? 2 * (steps - 1) : steps - 1))
      return "nothing was replayed";
    const auto logits = (*trainer)->logits(draw(options, 99));
    if (!logits) return "logits";
    return {reinterpret_cast<const char*>(logits->data()), logits->size() * sizeof(float)};
  });
  remove_segment(segment);
  EXPECT_GT(ends[0].said.size(), 100u) << ends[0].said;
  EXPECT_EQ(ends[0].said.size(), ends[1].said.size()) << ends[1].said;
  std::vector<float> logits(ends[0].said.size() / sizeof(float));
  if (!logits.empty()) {
    std::memcpy(logits.data(), ends[0].said.data(), logits.size() * sizeof(float));
  }
  return logits;
}

// Statistics stay each rank's own, so ranks need not agree; the weights of a rank must not depend
// on when the parts were exchanged.
TEST(DeviceTrainer, ExchangeDuringBackwardChangesNoBit) {
  const std::vector<float> whole = two_ranks(0);
  EXPECT_EQ(two_ranks(1 << 16), whole);
  HostExecutor executor;
  const auto comm = make_single_comm();
  auto alone = HostTrainer::create(small(), executor, *comm);
  ASSERT_TRUE(alone);
  ASSERT_TRUE((*alone)->step(draw(small(), 0)));
  EXPECT_NE(*(*alone)->logits(draw(small(), 99)), whole) << "nothing was exchanged";
}

// The pieces of backward between the parts are kept and replayed; the exchange never is.
TEST(DeviceTrainer, ReplayedPartsChangeNoBit) {
  EXPECT_EQ(two_ranks(1 << 16, 3), two_ranks(0, 3, false));
}

// Two ranks, as far as the trainer knows; counts what is handed over.
class CountingComm final : public Comm {
 public:
  RankPlace place() const override { return {0, 2, 0, 2, 0, 1}; }
  Result<std::span<float>> gradient_buffer(std::size_t count) override {
    buffer_.resize(count);
    return std::span<float>(buffer_);
  }
  Status all_reduce_mean(std::size_t first, std::size_t count, double*) override {
    return start_mean(first, count);
  }
  Status start_mean(std::size_t first, std::size_t count) override {
    // What is handed over is final: nobody writes to it before the step's end.
    handed_.emplace_back(first,
                         std::vector<float>(buffer_.begin() + static_cast<long>(first),
                                            buffer_.begin() + static_cast<long>(first + count)));
    return Status();
  }
  Status advance() override { return Status(); }
  Status finish_means(double*) override {
    std::vector<std::pair<std::size_t, std::size_t>> parts;
    for (const auto& [first, numbers] : handed_) {
      parts.emplace_back(first, numbers.size());
      changed +=
          !std::equal(numbers.begin(), numbers.end(), buffer_.begin() + static_cast<long>(first));
    }
    handed_.clear();
    steps.push_back(std::move(parts));
    return Status();
  }
  Status barrier() override { return Status(); }

  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> steps;
  int changed = 0;

 private:
  std::vector<float> buffer_;
  std::vector<std::pair<std::size_t, std::vector<float>>> handed_;
};

TEST(DeviceTrainer, HandsOverTheSameFinalPartsInEveryStep) {
  CountingComm comm;
  HostExecutor executor;
  TrainerOptions options = small();
  options.bucket_bytes = 1 << 16;
  auto trainer = HostTrainer::create(options, executor, comm);
  ASSERT_TRUE(trainer) << trainer.error().what;
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    ASSERT_TRUE((*trainer)->step(draw(options, seed)));
  ASSERT_EQ(comm.steps.size(), 3u);
  ASSERT_GT(comm.steps[0].size(), 2u);
  std::size_t end = find_model(options.model)->build(options.classes).parameter_floats;
  for (const auto& [first, count] : comm.steps[0]) {  // from the last parameters to the first
    EXPECT_EQ(first + count, end);
    EXPECT_EQ(first % 16, 0u);
    EXPECT_TRUE(count >= (1 << 14) || first == 0);
    end = first;
  }
  EXPECT_EQ(end, 0u) << "some gradients were not handed over";
  for (const auto& parts : comm.steps) EXPECT_EQ(parts, comm.steps[0]);
  EXPECT_EQ(comm.changed, 0) << "gradients were written after they had been handed over";
  EXPECT_EQ(executor.replayed, static_cast<int>(2 * comm.steps[0].size()));
}

// As an evaluation ends.
TEST(DeviceTrainer, ReadsASmallerBatch) {
  const auto comm = make_single_comm();
  HostExecutor executor;
  auto trainer = HostTrainer::create(small(), executor, *comm);
  ASSERT_TRUE(trainer);
  const Batch both = draw(small(), 4);
  Batch one = both;
  one.count = 1;
  one.labels.resize(1);
  one.images.resize(both.images.size() / 2);
  const auto all = (*trainer)->logits(both), first = (*trainer)->logits(one);
  ASSERT_TRUE(all);
  ASSERT_TRUE(first) << first.error().what;
  const auto classes = static_cast<std::size_t>(small().classes);
  ASSERT_EQ(first->size() * 2, all->size());
  for (std::size_t i = 0; i < first->size(); ++i) {  // [T, N, classes]
    ASSERT_EQ((*first)[i], (*all)[i / classes * 2 * classes + i % classes]) << i;
  }
}

TEST(DeviceTrainer, LabelsBeyondAnyLengthAreImpossible) {
  const auto comm = make_single_comm();
  HostExecutor executor;
  auto trainer = HostTrainer::create(small(), executor, *comm);
  ASSERT_TRUE(trainer);
  const auto report = (*trainer)->step(draw(small(), 1, 500));
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(report->impossible_labels, 2);
  EXPECT_EQ(report->loss, 0);
}

TEST(DeviceTrainer, RefusesWhatItLacks) {
  const auto comm = make_single_comm();
  HostExecutor executor;
  TrainerOptions options = small();
  options.heights = {32, 48};
  auto trainer = HostTrainer::create(options, executor, *comm);
  ASSERT_FALSE(trainer);
  EXPECT_EQ(trainer.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(device_training_bytes(options).error().kind, ErrorKind::unsupported);
  options = small();
  options.model = "nonesuch";
  EXPECT_EQ(HostTrainer::create(options, executor, *comm).error().kind, ErrorKind::usage);
  EXPECT_EQ(device_training_bytes(options).error().kind, ErrorKind::usage);
  ASSERT_TRUE((trainer = HostTrainer::create(small(), executor, *comm)));
  Batch other = draw(small(), 1);
  other.count = 1;
  EXPECT_EQ((*trainer)->step(other).error().kind, ErrorKind::usage);
}

TEST(DeviceFootprint, KnowsEveryModel) {
  for (const ModelRow& row : model_table()) {
    TrainerOptions training;
    training.model = row.name;
    training.height = row.height;
    training.width = row.width;
    const auto trained = device_training_bytes(training);
    ASSERT_TRUE(trained) << row.name << ": " << trained.error().what;
    RecognizerOptions reading;
    reading.model = row.name;
    reading.batch = training.batch;
    reading.height = row.height;
    reading.width = row.width;
    const auto read = device_reading_bytes(reading, training.classes);
    ASSERT_TRUE(read) << row.name << ": " << read.error().what;
    EXPECT_LT(*read, *trained) << row.name;
    training.precision = "bf16";
    EXPECT_LT(*device_training_bytes(training), *trained) << row.name;
  }
}

TEST(DeviceFootprint, GrowsWithTheBatchAndShrinksForReading) {
  TrainerOptions options;
  options.batch = 8;
  const auto eight = device_training_bytes(options);
  options.batch = 64;
  const auto many = device_training_bytes(options);
  ASSERT_TRUE(eight);
  ASSERT_TRUE(many);
  EXPECT_GT(*many, *eight + (std::uint64_t{100} << 20));
  RecognizerOptions reader;
  reader.batch = 64;
  const auto reading = device_reading_bytes(reader, 97);
  ASSERT_TRUE(reading);
  EXPECT_LT(*reading, *many);
}

}  // namespace
}  // namespace ocrtune
