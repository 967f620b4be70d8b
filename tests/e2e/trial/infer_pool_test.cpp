// Real workers over drawn pictures: killed, misplaced, given rubbish.
#include "trial/workloads/engine_infer/infer_pool.h"

#include <csignal>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/random.h"
#include "core/data/image_file.h"
#include "trial/workloads/engine_infer/line_list.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

class InferPoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);  // as every command does
    folder_ = *make_temporary_directory("infer");
    job_.program = OCRTUNE_BINARY;
    job_.spec.alphabet = "0123456789";
    job_.spec.recognizer.width = 64;
    job_.spec.recognizer.batch = 4;
    job_.chunk = 4;
    job_.exclusive = false;
    job_.masks.resize(2);
  }
  void TearDown() override { (void)remove_tree(folder_); }

  // Pictures of noise, each its own, so that the seeded weights read each differently or not.
  void make_lines(int count) {
    for (int i = 0; i < count; ++i) {
      Random random(static_cast<std::uint64_t>(i));
      Image image{20 + i % 60, 32, {}};
      image.pixels.resize(static_cast<std::size_t>(image.width * image.height * 3));
      for (auto& pixel : image.pixels) pixel = static_cast<std::uint8_t>(random.next());
      job_.paths.push_back(folder_ + "/" + std::to_string(i) + ".png");
      std::ofstream(job_.paths.back(), std::ios::binary) << *encode_png(image);
    }
  }
  InferOutcome run(const InferWatcher& watcher = {}) {
    auto outcome = run_inference(job_, watcher);
    EXPECT_TRUE(outcome) << outcome.error().what;
    return outcome ? std::move(outcome).value() : InferOutcome{};
  }

  std::string folder_;
  InferJob job_;
};

TEST_F(InferPoolTest, EveryPolicyGivesTheSameAnswersInOrder) {
  make_lines(30);
  job_.masks.resize(1);
  const InferOutcome alone = run();
  EXPECT_EQ(alone.read, 30);
  job_.masks.resize(3);
  for (QueuePolicy policy : {QueuePolicy::shared, QueuePolicy::static_shards}) {
    job_.policy = policy;
    std::int64_t next = 0;
    InferWatcher watcher;
    watcher.deliver = [&](const auto& answers, std::int64_t first, std::int64_t count) {
      EXPECT_EQ(first, next);
      for (std::int64_t i = first; i < first + count; ++i) {
        EXPECT_EQ(answers[static_cast<std::size_t>(i)].state, LineAnswer::State::read);
      }
      next = first + count;
    };
    const InferOutcome outcome = run(watcher);
    EXPECT_EQ(next, 30);
    EXPECT_EQ(outcome.stopped_by, "");
    std::int64_t lines = 0;
    for (const InferWorkerReport& worker : outcome.workers) lines += worker.lines;
    EXPECT_EQ(lines, 30);
    for (std::size_t i = 0; i < 30; ++i) {
      EXPECT_EQ(outcome.answers[i].text, alone.answers[i].text) << i;
      EXPECT_NEAR(outcome.answers[i].confidence, alone.answers[i].confidence, 1e-3);
    }
  }
}

TEST_F(InferPoolTest, KilledWorkersLoseAndDoubleNothing) {
  make_lines(400);
  std::map<int, int> pids;  // worker -> its present process
  int kills = 0;
  std::int64_t delivered = 0, done_at_last_kill = 0;
  InferWatcher watcher;
  watcher.started = [&](int worker, int pid) { pids[worker] = pid; };
  watcher.deliver = [&](const auto&, std::int64_t first, std::int64_t count) {
    EXPECT_EQ(first, delivered) << "each line once, in order";
    delivered = first + count;
  };
  watcher.progress = [&](std::int64_t done) {
    if (kills < 10 && done >= done_at_last_kill + 20) {
      ::kill(pids[kills % 2], SIGKILL);
      done_at_last_kill = done;
      ++kills;
    }
  };
  for (QueuePolicy policy : {QueuePolicy::shared, QueuePolicy::static_shards}) {
    job_.policy = policy;
    kills = 0;
    delivered = done_at_last_kill = 0;
    const InferOutcome outcome = run(watcher);
    EXPECT_EQ(kills, 10);
    EXPECT_EQ(delivered, 400);
    EXPECT_EQ(outcome.read, 400);
    EXPECT_EQ(outcome.bad, 0);
    int restarts = 0;
    for (const InferWorkerReport& worker : outcome.workers) restarts += worker.restarts;
    EXPECT_GE(restarts, 5) << "a kill may hit a process that was already dying";
    EXPECT_THAT(outcome.workers[0].last_end, HasSubstr("SIGKILL"));
  }
}

TEST_F(InferPoolTest, BadImagesAreAnsweredAsBad) {
  make_lines(10);
  std::ofstream(job_.paths[3]) << "no picture";
  (void)remove_tree(job_.paths[7]);
  const InferOutcome outcome = run();
  EXPECT_EQ(outcome.read, 8);
  EXPECT_EQ(outcome.bad, 2);
  EXPECT_EQ(outcome.answers[3].state, LineAnswer::State::bad);
  EXPECT_THAT(outcome.answers[3].text, HasSubstr("neither PNG nor JPEG"));
  EXPECT_THAT(outcome.answers[7].text, HasSubstr("No such file"));
}

TEST_F(InferPoolTest, AWorkerThatCannotStartIsAnError) {
  make_lines(4);
  job_.spec.recognizer.checkpoint = folder_ + "/none.ckpt";
  const auto outcome = run_inference(job_, {});
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().what, HasSubstr("none.ckpt"));
  job_.program = folder_ + "/no-program";
  EXPECT_FALSE(run_inference(job_, {}));
}

TEST_F(InferPoolTest, WorkersThatOnlyDieAreGivenUp) {
  make_lines(40);
  job_.program = "/bin/false";
  job_.chunk = 40;
  const InferOutcome outcome = run();
  EXPECT_EQ(outcome.read, 0);
  EXPECT_THAT(outcome.stopped_by, HasSubstr("again and again"));
  for (const InferWorkerReport& worker : outcome.workers) EXPECT_TRUE(worker.given_up);
}

TEST_F(InferPoolTest, PlacementIsProvedAndSharingFailsLoudly) {
  make_lines(60);
  const CpuSet allowed = current_affinity();
  const CpuSet first({allowed.cpus()[0]});
  job_.masks = {first};
  job_.exclusive = true;
  const InferOutcome alone = run();
  EXPECT_TRUE(alone.conflicts.empty());
  EXPECT_EQ(alone.workers[0].placement.allowed, first);
  EXPECT_EQ(alone.workers[0].placement.seen_inside, first);
  EXPECT_EQ(alone.workers[0].placement.seen_outside, first);
  job_.masks = {first, first};
  const InferOutcome together = run();
  ASSERT_FALSE(together.conflicts.empty());
  EXPECT_THAT(together.conflicts[0], HasSubstr("worker 0"));
  EXPECT_THAT(together.conflicts[0], HasSubstr("CPU " + first.text()));
}

}  // namespace
}  // namespace ocrtune
