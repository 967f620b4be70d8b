// Inference processes on GPUs that are not there: who sits where, and what is said when it is
// wrong.
#include <csignal>
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/random.h"
#include "core/data/image_file.h"
#include "trial/workloads/engine_infer/infer_pool.h"

namespace ocrtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(GpuPlaces, AreProvedOneByOne) {
  const std::vector<std::string> meant = {"GPU-aaaa", "GPU-bbbb"};
  const GpuPlace a{"GPU-aaaa", 5, "NVML"}, b{"GPU-bbbb", 5, "NVML"};
  EXPECT_THAT(gpu_conflicts(meant, {a, b}, false), IsEmpty());
  EXPECT_THAT(gpu_conflicts(meant, {a, {}}, false), IsEmpty()) << "the second has not spoken yet";
  EXPECT_THAT(gpu_conflicts(meant, {a, a}, true),
              ElementsAre("worker 1 was meant for GPU-bbbb and computes on GPU-aaaa"));
  EXPECT_THAT(gpu_conflicts({"GPU-aaaa", "GPU-aaaa"}, {a, a}, false),
              ElementsAre("workers 0 and 1 both compute on GPU-aaaa"));
  EXPECT_THAT(gpu_conflicts({"GPU-aaaa", "GPU-aaaa"}, {a, a}, true), IsEmpty());
  EXPECT_THAT(gpu_conflicts(meant, {{"", 5, "NVML"}, b}, false),
              ElementsAre("worker 0 was meant for GPU-aaaa and computes on no GPU"));
  EXPECT_THAT(gpu_conflicts(meant, {{"GPU-aaaa", 0, "NVML"}, b}, false),
              ElementsAre("worker 0 uses no memory of GPU-aaaa (NVML)"));
}

TEST(GpuPlaces, TravelAsText) {
  const GpuPlace place = parse_gpu_place(gpu_place_body({"GPU-a", 123456789012, "NVML"}));
  EXPECT_EQ(place.uuid, "GPU-a");
  EXPECT_EQ(place.bytes, 123456789012u);
  EXPECT_EQ(place.source, "NVML");
  EXPECT_EQ(parse_gpu_place("rubbish").uuid, "");
  EXPECT_EQ(parse_gpu_place("GPU-a\t-7\tNVML").bytes, 0u);
}

class InferOnGpus : public ::testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);
    folder_ = *make_temporary_directory("infer_gpu");
    job_.program = OCRTUNE_FAKE_WORKER;
    job_.spec.alphabet = "0123456789";
    job_.spec.recognizer.width = 64;
    job_.spec.recognizer.batch = 4;
    job_.chunk = 2;
    job_.exclusive = false;
    job_.masks.resize(2);
    job_.gpus = {"GPU-aaaa-0", "GPU-bbbb-1"};
    job_.policy =
        QueuePolicy::static_shards;  // so that both have lines, no matter which is ready first
    for (int i = 0; i < 12; ++i) {
      Random random(static_cast<std::uint64_t>(i));
      Image image{40, 32, {}};
      image.pixels.resize(static_cast<std::size_t>(image.width * image.height * 3));
      for (auto& pixel : image.pixels) pixel = static_cast<std::uint8_t>(random.next());
      job_.paths.push_back(folder_ + "/" + std::to_string(i) + ".png");
      std::ofstream(job_.paths.back(), std::ios::binary) << *encode_png(image);
    }
  }
  void TearDown() override {
    ::unsetenv("OCRTUNE_FAKE_INFER");
    (void)remove_tree(folder_);
  }
  std::string folder_;
  InferJob job_;
};

TEST_F(InferOnGpus, EachProcessHasItsOwn) {
  const auto outcome = run_inference(job_, {});
  ASSERT_TRUE(outcome) << outcome.error().what;
  EXPECT_EQ(outcome->read, 12);
  EXPECT_THAT(outcome->conflicts, IsEmpty());
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(outcome->workers[i].gpu.uuid, job_.gpus[i]);
    EXPECT_EQ(outcome->workers[i].gpu.bytes, 700u << 20);
    EXPECT_EQ(outcome->workers[i].gpu.source, "NVML");
  }
}

TEST_F(InferOnGpus, AllOnTheFirstEndsTheRunLoudly) {
  ::setenv("OCRTUNE_FAKE_INFER", "first", 1);
  const auto outcome = run_inference(job_, {});
  ASSERT_TRUE(outcome) << outcome.error().what;
  ASSERT_FALSE(outcome->conflicts.empty());
  EXPECT_THAT(outcome->conflicts[0],
              HasSubstr("worker 1 was meant for GPU-bbbb-1 and computes on GPU-aaaa-0"));
  EXPECT_FALSE(outcome->stopped_by.empty() && outcome->read < 12);
}

TEST_F(InferOnGpus, SharingIsAskedForOrAConflict) {
  job_.gpus = {"GPU-aaaa-0", "GPU-aaaa-0"};
  const auto outcome = run_inference(job_, {});
  ASSERT_TRUE(outcome) << outcome.error().what;
  ASSERT_FALSE(outcome->conflicts.empty());
  EXPECT_THAT(outcome->conflicts[0], HasSubstr("both compute on GPU-aaaa-0"));
  job_.share_gpus = true;
  const auto shared = run_inference(job_, {});
  ASSERT_TRUE(shared) << shared.error().what;
  EXPECT_THAT(shared->conflicts, IsEmpty());
  EXPECT_EQ(shared->read, 12);
}

TEST_F(InferOnGpus, ADeviceThatDoesNotOpenIsTheAnswer) {
  ::setenv("OCRTUNE_FAKE_INFER", "no-device", 1);
  const auto outcome = run_inference(job_, {});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(outcome.error().what, HasSubstr("no GPU"));
}

}  // namespace
}  // namespace ocrtune
