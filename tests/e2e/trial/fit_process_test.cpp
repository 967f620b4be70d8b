// Training in a process that stands for a GPU: its words, its silence and its death.
#include "trial/workloads/engine_train/fit_process.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/random.h"
#include "base/text.h"
#include "core/data/image_file.h"
#include "core/graph/checkpoint.h"
#include "trial/observe/step_mark.h"

namespace ocrtune {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(FitSpec, ComesBackAsItWas) {
  FitSpec spec;
  spec.gpu = "GPU-aaaa-0";
  spec.run.steps = 77;
  spec.run.checkpoint = "a \"b\".ckpt";
  spec.run.loader.alphabet = "äb中";
  spec.run.loader.heights = {32, 48};
  spec.run.trainer.model = "ppocr-mobile";
  spec.run.trainer.precision = "bf16";
  spec.run.memory_bytes = std::uint64_t{5} << 33;
  const auto back = parse_fit_spec(fit_spec_text(spec));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(fit_spec_text(*back), fit_spec_text(spec));
  EXPECT_EQ(back->run.loader.alphabet, "äb中");
  EXPECT_EQ(back->run.memory_bytes, std::uint64_t{5} << 33);
  spec.run.place = {1, 2, 1, 2, 0, 1};
  EXPECT_EQ(parse_fit_spec(fit_spec_text(spec)).error().kind, ErrorKind::usage) << "no folder";
  spec.folder = "/tmp/x";
  EXPECT_EQ(parse_fit_spec(fit_spec_text(spec))->run.place.rank, 1);
  spec.run.place.rank = 2;
  EXPECT_EQ(parse_fit_spec(fit_spec_text(spec)).error().kind, ErrorKind::usage);
  EXPECT_EQ(parse_fit_spec("{}").error().kind, ErrorKind::usage);
  EXPECT_EQ(parse_fit_spec("no json").error().kind, ErrorKind::usage);
}

Result<TrainingOutcome> fit(const std::string& program, double silent_seconds = 30) {
  FitOptions options;
  options.program = program;
  options.start_seconds = options.silent_seconds = silent_seconds;
  return run_fit_processes({}, {"GPU-aaaa-0"}, options, [](const TrainingProgress&) {});
}

TEST(FitProcess, EveryEndIsAnAnswer) {
  EXPECT_THAT(fit("/no/such/worker").error().what, HasSubstr("/no/such/worker"));
  EXPECT_THAT(fit("/bin/true").error().what, HasSubstr("without an answer"));
  // `cat fit --spec ...` fails with words of its own.
  EXPECT_THAT(fit("/bin/cat").error().what, HasSubstr("it said"));
}

// One that speaks all the time and says nothing.
TEST(FitProcess, NoiseIsSilence) {
  const auto folder = make_temporary_directory("fit");
  ASSERT_TRUE(folder);
  const std::string program = join_path(*folder, "noisy");
  ASSERT_TRUE(write_file(program,
                         "#!/bin/sh\nwhile :; do echo '{\"fit\": 7}'; echo words; sleep 0.02; "
                         "done\n"));
  ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
  const auto silent = fit(program, 0.3);
  ASSERT_FALSE(silent);
  EXPECT_THAT(silent.error().what, HasSubstr("silent"));
  EXPECT_TRUE(remove_tree(*folder));
}

// Two processes that stand for GPUs train together on the CPUs.
class FitRanks : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("fit_ranks");
    for (int i = 0; i < 20; ++i) {
      Random random(static_cast<std::uint64_t>(i));
      Image image{40, 32, {}};
      image.pixels.resize(static_cast<std::size_t>(image.width * image.height * 3));
      for (auto& pixel : image.pixels) pixel = static_cast<std::uint8_t>(random.next());
      const std::string name = std::to_string(i) + ".png";
      ASSERT_TRUE(write_file(join_path(folder_, name), *encode_png(image)));
      labels_ += name + "\tab\n";
    }
    ASSERT_TRUE(write_file(join_path(folder_, "labels.txt"), labels_));
    run_.loader.label_file = join_path(folder_, "labels.txt");
    run_.loader.batch = 2;
    run_.loader.width = 64;
    run_.trainer.threads = 1;
    run_.steps = 6;
    run_.save_every = 2;
    run_.checkpoint = join_path(folder_, "a.ckpt");
  }
  void TearDown() override {
    ::unsetenv("OCRTUNE_FAKE_FIT");
    // Of ranks that were killed while they met.
    const std::string ours = "ocrtune-fit-" + std::to_string(::getpid()) + "-";
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      if (!starts_with(entry.path().filename().string(), ours)) continue;
      std::filesystem::remove(entry.path());
    }
    EXPECT_TRUE(remove_tree(folder_));
  }

  Result<TrainingOutcome> fit(const std::string& mode = "", double start_seconds = 30,
                              double silent_seconds = 30) {
    ::setenv("OCRTUNE_FAKE_FIT", mode.c_str(), 1);
    ::setenv("OCRTUNE_FAKE_FIT_OWNER", std::to_string(::getpid()).c_str(), 1);
    FitOptions options;
    options.program = OCRTUNE_FAKE_WORKER;
    options.start_seconds = start_seconds;
    options.silent_seconds = silent_seconds;
    last_step_ = 0;
    return run_fit_processes(
        run_, {"GPU-aaaa-0", "GPU-bbbb-1"}, options,
        [this](const TrainingProgress& progress) { last_step_ = progress.step; });
  }

  std::string folder_, labels_;
  TrainingRunOptions run_;
  std::int64_t last_step_ = 0;
};

TEST_F(FitRanks, TrainTogetherAndGoOn) {
  const auto whole = fit();
  ASSERT_TRUE(whole) << whole.error().what;
  EXPECT_EQ(whole->steps, 6);
  EXPECT_EQ(last_step_, 6);
  const std::string weights = *read_file(run_.checkpoint);
  run_.steps = 4;
  ASSERT_TRUE(fit());
  EXPECT_NE(*read_file(run_.checkpoint), weights);
  run_.steps = 6;
  run_.resume = run_.checkpoint;
  ASSERT_TRUE(fit());
  EXPECT_EQ(*read_file(run_.checkpoint), weights);
}

TEST_F(FitRanks, ADeadRankEndsAllAndIsNamed) {
  const auto dead = fit("segv-later:GPU-bbbb-1");
  ASSERT_FALSE(dead);
  EXPECT_EQ(dead.error().what, "rank 1 on GPU-bbbb-1 ended without an answer: killed by SIGSEGV");
  EXPECT_EQ(read_checkpoint_head(run_.checkpoint)->steps, 2) << "what was saved is kept";
  const auto first = fit("segv-later:GPU-aaaa-0");
  ASSERT_FALSE(first);
  EXPECT_THAT(first.error().what, HasSubstr("rank 0 on GPU-aaaa-0 ended without an answer"));
  const auto at_once = fit("segv:GPU-bbbb-1");
  ASSERT_FALSE(at_once);
  EXPECT_THAT(at_once.error().what, HasSubstr("rank 1 on GPU-bbbb-1"));
}

TEST_F(FitRanks, WhatARankSaysIsTheAnswer) {
  const auto full = fit("memory:GPU-bbbb-1");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind, ErrorKind::exhausted);
  EXPECT_EQ(full.error().what, "rank 1 on GPU-bbbb-1: the GPU has 1 GiB free");
  const auto bad = fit("fail-later:GPU-bbbb-1");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().what, "rank 1 on GPU-bbbb-1: too many lines are bad");
}

// All fall silent where one does: the words name the one that made the others wait.
TEST_F(FitRanks, TheRankThatHoldsTheOthersUpIsNamed) {
  run_.report_every = 1;
  for (const std::string gpu : {"GPU-aaaa-0", "GPU-bbbb-1"}) {
    const auto later = fit("hang-between:" + gpu, 20, 2);
    ASSERT_FALSE(later);
    EXPECT_THAT(later.error().what, AllOf(HasSubstr("on " + gpu + " did not come to step 3"),
                                          HasSubstr("silent for 2 s")));
  }
  const auto inside = fit("hang-later", 20, 2);
  ASSERT_FALSE(inside);
  EXPECT_THAT(inside.error().what, HasSubstr("no rank came out of step 3, rank "));
  const auto early = fit("hang:GPU-bbbb-1", 4);
  ASSERT_FALSE(early);
  EXPECT_THAT(early.error().what, AllOf(HasSubstr("rank 1 on GPU-bbbb-1 did not come to the start"),
                                        HasSubstr("silent for 4 s")));
}

TEST(StepMark, IsReadWhileItsRankLives) {
  const auto folder = make_temporary_directory("mark");
  ASSERT_TRUE(folder);
  const std::string path = step_mark_path(*folder, 3);
  EXPECT_FALSE(read_step_mark(path));
  auto mark = StepMark::create(path);
  ASSERT_TRUE(mark);
  EXPECT_EQ(read_step_mark(path)->steps, 0);
  mark->set({7, true});
  EXPECT_EQ(read_step_mark(path)->steps, 7);
  EXPECT_TRUE(read_step_mark(path)->inside);
  EXPECT_FALSE(StepMark::create(*folder + "/none/x"));
  StepMark().set({1, true});  // marks nothing
  EXPECT_TRUE(remove_tree(*folder));
}

}  // namespace
}  // namespace ocrtune
