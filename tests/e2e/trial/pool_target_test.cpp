// The built-in core as a server: real workers, one of them killed, two of them on one CPU.
#include "trial/workloads/engine_infer/pool_target.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/files.h"
#include "trial/workloads/engine_infer/infer_trial_spec.h"
#include "trial/workloads/service/load_generator.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

class PoolTargetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);
    folder_ = *make_temporary_directory("pool");
    job_.program = OCRTUNE_BINARY;
    job_.spec.alphabet = "0123456789";
    job_.spec.recognizer.width = 128;
    job_.spec.recognizer.batch = 4;
    job_.exclusive = false;
    job_.masks.resize(2);
    paths_ = *write_noise_lines(folder_, 32, 128);
  }
  void TearDown() override { (void)remove_tree(folder_); }
  LineKinds kinds() const { return *line_kinds(paths_, 32, 128); }

  std::string folder_;
  InferJob job_;
  std::vector<std::string> paths_;
};

TEST_F(PoolTargetTest, KindsAreTheWidths) {
  const LineKinds found = kinds();
  EXPECT_EQ(found.widths, (std::vector<int>{64, 128}));
  EXPECT_EQ(found.paths[0].size(), 4u);
  EXPECT_DOUBLE_EQ(found.weights[1], 0.5);
  const auto none = line_kinds({folder_ + "/none.png"}, 32, 128);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().what, HasSubstr("none.png"));
}

TEST_F(PoolTargetTest, EveryRequestIsAnsweredOnce) {
  for (const QueuePolicy policy : {QueuePolicy::shared, QueuePolicy::static_shards}) {
    job_.policy = policy;
    job_.spec.check = true;
    auto target = PoolTarget::start(job_, kinds());
    ASSERT_TRUE(target) << target.error().what;
    LoadPlan plan;
    plan.max_requests = 60;
    plan.kind_weights = {1, 1};
    const LoadResult result = run_load(**target, steady_clock(), Arrivals::poisson(200, 1), plan);
    EXPECT_EQ(result.completed, 60);
    EXPECT_EQ(result.failed, 0);
    EXPECT_EQ(result.unanswered, 0);
    ASSERT_EQ(result.kinds.size(), 2u);
    EXPECT_GT(result.kinds[1].count(), 0);
  }
}

TEST_F(PoolTargetTest, AKilledWorkerFailsWhatItHadAndComesBack) {
  auto target = PoolTarget::start(job_, kinds());
  ASSERT_TRUE(target) << target.error().what;
  const int first = (*target)->placements()[0].pid;
  std::vector<Completion> finished;
  const auto ask = [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t i = from; i < to; ++i) (*target)->start(i, static_cast<int>(i % 2));
    const double end = steady_clock().now_seconds() + 60;
    while (finished.size() < to && steady_clock().now_seconds() < end) {
      (*target)->collect(end, finished);
    }
  };
  for (std::uint64_t i = 0; i < 40; ++i) (*target)->start(i, 0);
  (*target)->collect(0, finished);  // hands the first batches out
  ::kill(first, SIGKILL);
  ask(40, 40);
  ASSERT_EQ(finished.size(), 40u);
  EXPECT_THAT((*target)->failure(), HasSubstr("SIGKILL"));
  EXPECT_NE((*target)->placements()[0].pid, first);
  ask(40, 80);
  ASSERT_EQ(finished.size(), 80u);
  std::vector<int> answers(80);
  int failed = 0;
  for (const Completion& one : finished) {
    ++answers[one.request];
    failed += one.ok ? 0 : 1;
  }
  EXPECT_THAT(answers, ::testing::Each(1));
  EXPECT_LE(failed, 4) << "only the batch that the dead one had";
}

TEST_F(PoolTargetTest, SharingACpuIsAConflict) {
  const CpuSet first({current_affinity().cpus()[0]});
  job_.masks = {first, first};
  job_.exclusive = true;
  auto target = PoolTarget::start(job_, kinds());
  ASSERT_TRUE(target) << target.error().what;
  ASSERT_FALSE((*target)->conflicts().empty());
  EXPECT_THAT((*target)->conflicts()[0], HasSubstr("CPU " + first.text()));
}

TEST_F(PoolTargetTest, AWorkerThatCannotStartSaysWhy) {
  job_.spec.recognizer.checkpoint = folder_ + "/none.ckpt";
  const auto target = PoolTarget::start(job_, kinds());
  ASSERT_FALSE(target);
  EXPECT_THAT(target.error().what, HasSubstr("none.ckpt"));
}

TEST(InferTrialSpec, ComesBackAsItWent) {
  InferTrialSpec spec;
  spec.infer.recognizer.batch = 7;
  spec.infer.alphabet = "ab\"c";
  spec.masks = {"0-1", ""};
  spec.command = {"serve", "--n", "2"};
  spec.slo = "p99=50ms";
  spec.seconds = 2.5;
  const auto back = parse_infer_trial_spec(infer_trial_spec_text(spec));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->infer.recognizer.batch, 7);
  EXPECT_EQ(back->infer.alphabet, "ab\"c");
  EXPECT_EQ(back->command, spec.command);
  EXPECT_EQ(back->slo, spec.slo);
  EXPECT_EQ(back->seconds, 2.5);
  EXPECT_EQ(masks_of(*back)->at(0).text(), "0-1");
  EXPECT_TRUE(masks_of(*back)->at(1).empty());
  for (const char* bad : {"", "{}", "[1]", "{\"place\": 3}"}) {
    EXPECT_EQ(parse_infer_trial_spec(bad).error().kind, ErrorKind::usage) << bad;
  }
}

}  // namespace
}  // namespace ocrtune
