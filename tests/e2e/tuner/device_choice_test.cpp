// Which GPUs the core trains on, and what is said where it cannot: over the stub's boxes and a GPU
// worker that fails on purpose.
#include "tuner/space/device_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "probes/gpu/gpu.h"
#include "tuner/job/job_workload.h"
#include "tuner/session/tune_setup.h"
#include "tuner/space/default_space.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

class DeviceChoiceTest : public testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("device_choice"); }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }

  Environment environment(const std::string& box, const std::string& faults = "") {
    Environment out = {
        {"OCRTUNE_NVML_PATH", OCRTUNE_NVML_STUB_LIBRARY},
        {"OCRTUNE_NVML_STUB", OCRTUNE_SOURCE_DIR + "/tests/fixtures/gpu_boxes/" + box + ".txt"},
        {"OCRTUNE_GPU_WORKER", OCRTUNE_FAKE_GPU_WORKER}};
    if (!faults.empty()) {
      const std::string path = join_path(folder_, "faults.txt");
      EXPECT_TRUE(write_file(path, faults));
      out["OCRTUNE_FAKE_GPU"] = path;
    }
    return out;
  }

  static Machine machine(const Environment& environment) {
    Machine out;
    out.cpu.usable_cpus.value = 16;
    const GpuReport report = probe_gpus({}, environment);
    out.gpus = report.gpus;
    out.gpu_state = report.state;
    return out;
  }

  Result<DeviceChoice> choose(const std::string& device, const std::string& gpus,
                              const Environment& environment) {
    DeviceRequest request;
    request.device = device;
    request.gpus = gpus;
    request.deadline_seconds = 1;
    return choose_device(request, machine(environment), environment);
  }

  std::string folder_;
};

TEST_F(DeviceChoiceTest, AutoTakesAllUsableOnes) {
  const auto choice = choose("auto", "", environment("2x4090"));
  ASSERT_TRUE(choice) << choice.error().what;
  EXPECT_TRUE(choice->gpu);
  ASSERT_EQ(choice->gpus.size(), 2u);
  EXPECT_NE(choice->gpus[0].uuid, choice->gpus[1].uuid);
  EXPECT_TRUE(choice->tensor_cores);
  EXPECT_EQ(choice->memory_bytes, 20'000'000'000u);
  EXPECT_EQ(choice->no_nccl, "");
}

TEST_F(DeviceChoiceTest, NamesCountWithinWhatIsVisible) {
  Environment four = environment("4xa40-pcie");
  four["CUDA_VISIBLE_DEVICES"] = "3,1";
  const auto all = choose("gpu", "", four);
  ASSERT_TRUE(all) << all.error().what;
  ASSERT_EQ(all->gpus.size(), 2u);
  EXPECT_EQ(all->gpus[0].physical, 3);
  EXPECT_EQ(all->gpus[1].physical, 1);
  const auto one = choose("gpu", "1", four);
  ASSERT_TRUE(one) << one.error().what;
  ASSERT_EQ(one->gpus.size(), 1u);
  EXPECT_EQ(one->gpus[0].physical, 1) << "logical, never silently GPU 0";
  const auto by_uuid = choose("gpu", all->gpus[0].uuid, four);
  ASSERT_TRUE(by_uuid) << by_uuid.error().what;
  EXPECT_EQ(by_uuid->gpus[0].physical, 3);
}

TEST_F(DeviceChoiceTest, WhatCannotBeIsSaidInOneLine) {
  struct Case {
    const char *box, *gpus, *visible, *faults, *words;
    ErrorKind kind;
  };
  for (const Case& given : {
           Case{"no-driver", "", "", "", "--device gpu: no GPU", ErrorKind::missing},
           Case{"no-gpu", "", "", "", "--device gpu: no GPU", ErrorKind::missing},
           Case{"2x4090", "", "-1", "", "no GPU is visible", ErrorKind::missing},
           Case{"2x4090", "7", "", "", "7", ErrorKind::missing},
           Case{"2x4090", "GPU-nonesuch", "", "", "GPU-nonesuch", ErrorKind::missing},
           Case{"2x4090", "first", "", "", "first", ErrorKind::usage},
           Case{"2x4090", "", "", "ready mode=unsupported detail=no-CUDA-part", "no-CUDA-part",
                ErrorKind::unsupported},
           Case{"2x4090", "", "", "ready mode=old_driver", "driver is too old",
                ErrorKind::unsupported},
           Case{"2x4090", "", "", "ready mode=hang", "no answer within", ErrorKind::unsupported},
           Case{"2x4090", "", "", "ready mode=segv", "SIGSEGV", ErrorKind::unsupported},
           Case{"2x4090", "", "", "ready mode=one_device", "opened 1 of the 2",
                ErrorKind::unsupported},
       }) {
    Environment env = environment(given.box, given.faults);
    if (*given.visible != '\0') env["CUDA_VISIBLE_DEVICES"] = given.visible;
    const auto choice = choose("gpu", given.gpus, env);
    ASSERT_FALSE(choice) << given.words;
    EXPECT_EQ(choice.error().kind, given.kind) << choice.error().what;
    EXPECT_THAT(choice.error().what, HasSubstr(given.words));
    EXPECT_EQ(choice.error().what.find('\n'), std::string::npos);
    // Nobody asked for a GPU: the CPUs, and why.
    if (*given.gpus != '\0') continue;
    const auto automatic = choose("auto", "", env);
    ASSERT_TRUE(automatic);
    EXPECT_FALSE(automatic->gpu);
  }
  EXPECT_EQ(choose("tpu", "", environment("2x4090")).error().kind, ErrorKind::usage);
  EXPECT_EQ(choose("cpu", "0", environment("2x4090")).error().kind, ErrorKind::usage);
  const auto cpu = choose("cpu", "", environment("2x4090"));
  ASSERT_TRUE(cpu);
  EXPECT_FALSE(cpu->gpu);
}

TEST_F(DeviceChoiceTest, AMissingNcclIsAnAnswer) {
  const auto choice = choose("gpu", "", environment("2x4090", "ready mode=no_nccl"));
  ASSERT_TRUE(choice) << choice.error().what;
  EXPECT_THAT(choice->no_nccl, HasSubstr("libnccl.so.2"));
}

TrainingJob on_gpus(int count) {
  TrainingJob job;
  for (int i = 0; i < count; ++i) job.engine.gpus.push_back("GPU-" + std::to_string(i));
  job.engine.tensor_cores = true;
  job.gpu_memory_bytes = std::uint64_t{8} << 30;
  return job;
}

SearchRequest from_cuda() {
  SearchRequest search;
  search.baseline.backend = "cuda";
  return search;
}

Machine sixteen_cpus() {
  Machine machine;
  machine.cpu.usable_cpus.value = 16;
  machine.gpus.resize(4);
  return machine;
}

TEST(GpuSpace, IsMadeOfGpus) {
  const auto setup = tune_setup({on_gpus(4)}, from_cuda(), sixteen_cpus());
  ASSERT_TRUE(setup) << setup.error().what;
  int most = 0, largest = 0;
  std::set<std::string> precisions;
  for (int point = 0; point < setup->space.size(); ++point) {
    const Knobs& knobs = setup->space.knobs(point);
    EXPECT_EQ(knobs.backend, "cuda");
    EXPECT_EQ(knobs.threads, 1);
    EXPECT_LE(knobs.nproc * knobs.workers, 32);
    if (knobs.nproc == 1) {
      EXPECT_EQ(knobs.p2p + knobs.ctas, "autoauto") << knobs_text(knobs);
    }
    most = std::max(most, knobs.nproc);
    largest = std::max(largest, knobs.batch);
    precisions.insert(knobs.precision);
  }
  EXPECT_EQ(most, 4);
  EXPECT_EQ(largest, 1024);
  EXPECT_EQ(precisions, (std::set<std::string>{"fp32", "tf32", "bf16"}));
  EXPECT_TRUE(setup->recommend.rules.empty()) << "the rules of thumb speak of CPUs";
  TrainingJob old = on_gpus(1);
  old.engine.tensor_cores = false;
  const auto one = tune_setup({old}, from_cuda(), sixteen_cpus());
  ASSERT_TRUE(one);
  for (int point = 0; point < one->space.size(); ++point) {
    EXPECT_EQ(one->space.knobs(point).nproc, 1);
    EXPECT_EQ(one->space.knobs(point).precision, "fp32");
  }
}

// Admission by one GPU's memory: however many ranks, however little the machine itself has.
TEST(GpuSpace, IsAdmittedByOneGpusMemory) {
  const Job job = {on_gpus(4)};
  SearchRequest search = from_cuda();
  search.memory_limit_bytes = std::uint64_t{1} << 20;
  const auto setup = tune_setup(job, search, sixteen_cpus());
  ASSERT_TRUE(setup) << setup.error().what;
  const LaunchGate safety(setup->space, setup->search.safety);
  std::map<std::pair<std::string, int>, bool> of_batch;  // and precision: bf16 takes less
  for (int point = 0; point < setup->space.size(); ++point) {
    const Knobs& knobs = setup->space.knobs(point);
    const bool admitted = safety.admitted(point);
    const auto [known, fresh] = of_batch.emplace(std::pair(knobs.precision, knobs.batch), admitted);
    EXPECT_EQ(known->second, admitted) << knobs_text(knobs);
  }
  EXPECT_TRUE(of_batch.at({"fp32", 8}));
  EXPECT_FALSE(of_batch.at({"fp32", 1024}));
  EXPECT_THAT(
      launch_text(workload_of(job, search)->launch(sixteen_cpus(), setup->space.knobs(0), {})),
      HasSubstr("Global.use_gpu=true"));
}

TEST(GpuSpace, APeakOfOneRankSpeaksForAll) {
  const auto setup = tune_setup({on_gpus(4)}, from_cuda(), sixteen_cpus());
  ASSERT_TRUE(setup);
  LaunchGate safety(setup->space, setup->search.safety);
  const auto point_of = [&](int nproc, int batch) {
    for (int point = 0; point < setup->space.size(); ++point) {
      Knobs wanted = from_cuda().baseline;
      wanted.nproc = nproc;
      wanted.batch = batch;
      if (setup->space.knobs(point) == wanted) return point;
    }
    return -1;
  };
  const int one = point_of(1, 64), four = point_of(4, 64);
  ASSERT_GE(one, 0);
  ASSERT_GE(four, 0);
  Trial trial;
  trial.outcome = Outcome::ok;
  trial.knobs = setup->space.knobs(one);
  trial.peak_bytes = std::uint64_t{5} << 30;
  safety.tell(one, trial);
  const double predicted = safety.forecast(four).bytes;
  EXPECT_NEAR(predicted, 5.0 * (1 << 30), 0.25 * 5 * (1 << 30));
  EXPECT_TRUE(safety.admitted(four)) << row_of(safety.admit(four).reason.code).name;
}

}  // namespace
}  // namespace ocrtune
