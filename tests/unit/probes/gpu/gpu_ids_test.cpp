// A table of cases: what a process sees, and which device it takes.
#include "probes/gpu/gpu_ids.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/machine_gpus.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

std::vector<PhysicalGpu> alike(int count) {
  std::vector<PhysicalGpu> gpus;
  for (int i = 0; i < count; ++i) {
    gpus.push_back(
        {i, "GPU-" + std::string(1, static_cast<char>('a' + i)) + "000", "RTX 4090", false, {}});
  }
  return gpus;
}

// Logical order as physical indexes: "2 0"; "?" where it cannot be known.
std::string order(const GpuView& view) {
  std::string text;
  for (std::size_t i = 0; i < view.gpus.size(); ++i) {
    EXPECT_EQ(view.gpus[i].logical, static_cast<int>(i));
    const int physical = view.gpus[i].physical;
    text += (i == 0 ? "" : " ") + (physical < 0 ? "?" : std::to_string(physical));
  }
  return text;
}

TEST(DeviceIds, WhatAProcessSees) {
  struct Case {
    const char* visible;
    const char* sees;
    const char* problem;  // "" for none
  };
  const Case cases[] = {
      {"0,1,2,3", "0 1 2 3", ""},
      {"2,0", "2 0", ""},
      {"3", "3", ""},
      {" 1 , 2 ", "1 2", ""},
      {"+1", "1", ""},
      {"1x,2ampere", "1 2", ""},
      {"10", "", "names no GPU here"},  // not the 1 of its first character
      {"0,7,1", "0", "'7' names no GPU here, and ends the list: only the 1 before it"},
      {"0,-1,1", "0", "'-1'"},
      {"-1", "", "none is visible"},
      {"", "", "empty: it hides every GPU"},
      {" ", "", "empty"},
      {"0,,1", "0", "''"},
      {"all", "", "'all' names no GPU"},
      {"NoDevFiles", "", "none is visible"},
      {"99999999999999999999", "", "names no GPU"},
      {"1,1", "", "twice, which hides all"},
      {"0,1,0", "", "twice"},
      {"GPU-c000", "2", ""},
      {"GPU-c", "2", ""},
      {"GPU-d000,GPU-a", "3 0", ""},
      {"GPU-", "", "names no GPU"},  // fits all of them
      {"GPU-x", "", "names no GPU"},
      {"GPU-a000,1", "0", "'1' names no GPU here"},  // the kinds do not mix
      {"1,GPU-a000", "1", "'GPU-a000'"},
      {"GPU-a,GPU-a000", "", "twice"},
      {"gpu-a000", "", "names no GPU"},
  };
  for (const Case& given : cases) {
    const GpuView view =
        visible_gpus(alike(4), {{"CUDA_VISIBLE_DEVICES", given.visible}}, GpuVendor::nvidia);
    EXPECT_EQ(order(view), given.sees) << "CUDA_VISIBLE_DEVICES=" << given.visible;
    if (*given.problem == '\0') {
      EXPECT_THAT(view.problems, testing::IsEmpty()) << given.visible;
    } else {
      ASSERT_EQ(view.problems.size(), 1U) << given.visible;
      EXPECT_THAT(view.problems[0], HasSubstr(given.problem)) << given.visible;
    }
  }
}

TEST(DeviceIds, UnsetShowsAll) {
  EXPECT_EQ(order(visible_gpus(alike(3), {}, GpuVendor::nvidia)), "0 1 2");
  EXPECT_EQ(order(visible_gpus({}, {}, GpuVendor::nvidia)), "");
  EXPECT_EQ(order(visible_gpus({}, {{"CUDA_VISIBLE_DEVICES", "0"}}, GpuVendor::nvidia)), "");
}

TEST(DeviceIds, UnlikeGpusMakeIndexesDoubtful) {
  std::vector<PhysicalGpu> gpus = alike(2);
  gpus[1].name = "RTX 3090";
  const GpuView plain = visible_gpus(gpus, {{"CUDA_VISIBLE_DEVICES", "0"}}, GpuVendor::nvidia);
  EXPECT_EQ(order(plain), "?");
  ASSERT_EQ(plain.problems.size(), 1U);
  EXPECT_THAT(plain.problems[0], HasSubstr("CUDA_DEVICE_ORDER=PCI_BUS_ID"));
  EXPECT_EQ(
      order(visible_gpus(gpus, {{"CUDA_VISIBLE_DEVICES", "1"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}},
                         GpuVendor::nvidia)),
      "1");
  EXPECT_EQ(order(visible_gpus(gpus, {{"CUDA_VISIBLE_DEVICES", "GPU-b"}}, GpuVendor::nvidia)), "1");
}

TEST(DeviceIds, MigShowsOneSlice) {
  std::vector<PhysicalGpu> gpus = alike(2);
  gpus[0].mig = true;
  gpus[0].slices = {"MIG-11", "MIG-12"};
  struct Case {
    const char* visible;
    const char* uuid;
    bool problem;
  };
  const Case cases[] = {{"MIG-12", "MIG-12", false},
                        {"MIG-11,MIG-12", "MIG-11", true},
                        {"0", "MIG-11", false},
                        {"0,1", "MIG-11", true},
                        {"1", "GPU-b000", false}};
  for (const Case& given : cases) {
    const GpuView view =
        visible_gpus(gpus, {{"CUDA_VISIBLE_DEVICES", given.visible}}, GpuVendor::nvidia);
    ASSERT_EQ(view.gpus.size(), 1U) << given.visible;
    EXPECT_EQ(view.gpus[0].uuid, given.uuid) << given.visible;
    EXPECT_EQ(!view.problems.empty(), given.problem) << given.visible;
  }
  EXPECT_EQ(order(visible_gpus(gpus, {{"CUDA_VISIBLE_DEVICES", "MIG-1"}}, GpuVendor::nvidia)), "");
  EXPECT_EQ(order(visible_gpus(gpus, {{"CUDA_VISIBLE_DEVICES", "MIG-9"}}, GpuVendor::nvidia)), "");
}

TEST(DeviceIds, EachVendorReadsItsOwnVariables) {
  const std::vector<PhysicalGpu> gpus = alike(4);
  EXPECT_EQ(order(visible_gpus(gpus, {{"HIP_VISIBLE_DEVICES", "1"}}, GpuVendor::nvidia)),
            "0 1 2 3");
  EXPECT_EQ(order(visible_gpus(gpus, {{"HIP_VISIBLE_DEVICES", "1"}}, GpuVendor::amd)), "1");
  EXPECT_EQ(order(visible_gpus(gpus, {{"CUDA_VISIBLE_DEVICES", "2"}}, GpuVendor::amd)), "2");
  EXPECT_EQ(order(visible_gpus(gpus, {{"HIP_VISIBLE_DEVICES", "1"}, {"CUDA_VISIBLE_DEVICES", "2"}},
                               GpuVendor::amd)),
            "1");
  // HIP counts within what ROCr left.
  EXPECT_EQ(
      order(visible_gpus(gpus, {{"ROCR_VISIBLE_DEVICES", "2,3"}, {"HIP_VISIBLE_DEVICES", "1"}},
                         GpuVendor::amd)),
      "3");
  EXPECT_EQ(order(visible_gpus(gpus, {{"ROCR_VISIBLE_DEVICES", "2"}, {"HIP_VISIBLE_DEVICES", "1"}},
                               GpuVendor::amd)),
            "");
}

TEST(DeviceIds, WhichDeviceAProcessTakes) {
  struct Case {
    const char* visible;
    const char* wanted;
    Environment environment;
    const char* takes;  // physical ids
    bool by_default;
    const char* because;
  };
  const Case cases[] = {
      {"2,3", "1", {}, "3", false, "device names 1"},
      {"2,3", "gpu:0", {}, "2", false, "names 0"},
      {"2,3", "cuda:0,1", {}, "2 3", false, "names 0,1"},
      {"2,3", "all", {}, "2 3", false, "all visible"},
      {"2,3", "GPU-d", {}, "3", false, "GPU-d"},
      {"2,3", "", {{"FLAGS_selected_gpus", "1"}}, "3", false, "FLAGS_selected_gpus names 1"},
      {"2,3", "", {{"FLAGS_selected_gpus", "0,1"}}, "2 3", false, "FLAGS_selected_gpus"},
      {"2,3", "0", {{"FLAGS_selected_gpus", "1"}}, "2", false, "device"},
      {"2,3", "", {{"FLAGS_selected_gpus", " "}, {"LOCAL_RANK", "1"}}, "3", false, "LOCAL_RANK"},
      {"2,3", "", {{"PADDLE_LOCAL_RANK", "0"}}, "2", false, "PADDLE_LOCAL_RANK"},
      {"3", "", {{"LOCAL_RANK", "1"}}, "3", false, "only visible"},  // one GPU shown to each rank
      {"3", "", {}, "3", false, "only visible"},
      {"2,3", "", {}, "2", true, "no device was named, 2 GPUs are visible"},
  };
  for (const Case& given : cases) {
    const GpuView view =
        visible_gpus(alike(4), {{"CUDA_VISIBLE_DEVICES", given.visible}}, GpuVendor::nvidia);
    const auto choice = choose_gpus(view, given.wanted, given.environment);
    ASSERT_TRUE(choice) << choice.error().what;
    std::string takes;
    for (const VisibleGpu& gpu : choice->gpus) {
      takes += (takes.empty() ? "" : " ") + std::to_string(gpu.physical);
    }
    EXPECT_EQ(takes, given.takes) << given.because;
    EXPECT_EQ(choice->by_default, given.by_default) << given.because;
    EXPECT_THAT(choice->because, HasSubstr(given.because));
  }
}

TEST(DeviceIds, RefusesWithWhatWasMeant) {
  struct Case {
    const char* visible;
    const char* wanted;
    Environment environment;
    ErrorKind kind;
    const char* says;
  };
  const Case cases[] = {
      // The physical id where a logical one belongs: the mistake of the usual sample code.
      {"1", "1", {}, ErrorKind::missing, "GPU 1 of the driver is 0 here"},
      {"2,3", "", {{"FLAGS_selected_gpus", "3"}}, ErrorKind::missing, "is 1 here"},
      {"2,3", "5", {}, ErrorKind::missing, "there is no GPU 5; 2 GPUs are visible"},
      {"2,3", "-1", {}, ErrorKind::missing, "no GPU -1"},
      {"2,3", "x", {}, ErrorKind::usage, "'x' is no GPU id"},
      {"2,3", "0,0", {}, ErrorKind::usage, "twice"},
      {"2,3", "0,", {}, ErrorKind::usage, "'' is no GPU id"},
      {"2,3", "GPU-", {}, ErrorKind::usage, "fits several"},
      {"2,3", "GPU-a", {}, ErrorKind::missing, "no visible GPU has the UUID GPU-a"},
      {"2,3", "", {{"LOCAL_RANK", "2"}}, ErrorKind::missing, "LOCAL_RANK: there is no GPU 2"},
      {"", "0", {}, ErrorKind::missing, "hides every GPU"},
      {"-1", "", {}, ErrorKind::missing, "no GPU is visible"},
  };
  for (const Case& given : cases) {
    const GpuView view =
        visible_gpus(alike(4), {{"CUDA_VISIBLE_DEVICES", given.visible}}, GpuVendor::nvidia);
    const auto choice = choose_gpus(view, given.wanted, given.environment);
    ASSERT_FALSE(choice) << given.says;
    EXPECT_EQ(choice.error().kind, given.kind) << choice.error().what;
    EXPECT_THAT(choice.error().what, HasSubstr(given.says));
  }
}

TEST(DeviceIds, AChildSeesExactlyItsDevice) {
  const std::vector<PhysicalGpu> gpus = alike(4);
  for (const VisibleGpu& gpu : visible_gpus(gpus, {}, GpuVendor::nvidia).gpus) {
    Environment child;
    for (const auto& [name, value] : gpu_environment(gpu, GpuVendor::nvidia))
      if (value) child[name] = *value;
    const GpuView inside = visible_gpus(gpus, child, GpuVendor::nvidia);
    EXPECT_EQ(order(inside), std::to_string(gpu.physical));
    const auto choice = choose_gpus(inside, "", child);
    ASSERT_TRUE(choice);
    EXPECT_FALSE(choice->by_default);
    EXPECT_EQ(choice->gpus[0].physical, gpu.physical);
  }
}

TEST(DeviceIds, EveryRankItsOwnAndNoneByDefault) {
  struct Case {
    const char* wanted;
    Environment environment;
    int physical;  // -1: refused
    const char* says;
  };
  const Case cases[] = {
      {"auto", {{"LOCAL_RANK", "1"}}, 1, ""},
      {"auto", {{"LOCAL_RANK", "1"}, {"CUDA_VISIBLE_DEVICES", "3,2"}}, 2, ""},
      {"auto", {{"PADDLE_LOCAL_RANK", "0"}, {"FLAGS_selected_gpus", "2"}}, 2, ""},
      {"auto", {{"FLAGS_selected_gpus", "1"}, {"CUDA_VISIBLE_DEVICES", "3,2"}}, 2, ""},
      {"auto", {{"FLAGS_selected_gpus", "0,1"}}, -1, "one device a rank"},
      {"auto", {{"FLAGS_selected_gpus", "2"}, {"CUDA_VISIBLE_DEVICES", "3,2"}}, -1, "no GPU 2"},
      {"auto", {}, -1, "no rank is in the environment"},
      {"auto", {{"LOCAL_RANK", "4"}}, -1, "LOCAL_RANK: there is no GPU 4; 4 GPUs are visible"},
      {"auto", {{"LOCAL_RANK", "1"}, {"CUDA_VISIBLE_DEVICES", "2"}}, -1, "LOCAL_RANK=1, but 1 GPU"},
      {"auto", {{"LOCAL_RANK", "0"}, {"CUDA_VISIBLE_DEVICES", "-1"}}, -1, "no GPU is visible"},
      {"auto", {{"LOCAL_RANK", "0"}, {"CUDA_VISIBLE_DEVICES", ""}}, -1, "hides every GPU"},
      {"0,2", {{"LOCAL_RANK", "1"}}, 2, ""},
      {"0,2", {{"LOCAL_RANK", "2"}}, -1, "LOCAL_RANK=2, but 0,2 names 2 GPUs"},
      {"0,2", {}, -1, "several GPUs"},
      {"3", {}, 3, ""},
      {"GPU-c", {{"LOCAL_RANK", "0"}}, 2, ""},
      {"2,2", {{"LOCAL_RANK", "0"}}, -1, "twice"},
      {"9", {{"LOCAL_RANK", "0"}}, -1, "no GPU 9"},
  };
  for (const Case& given : cases) {
    const GpuView view = visible_gpus(alike(4), given.environment, GpuVendor::nvidia);
    const auto gpu = gpu_of_rank(view, given.wanted, given.environment);
    if (given.physical < 0) {
      ASSERT_FALSE(gpu) << given.wanted << ": " << given.says;
      EXPECT_THAT(gpu.error().what, HasSubstr(given.says));
    } else {
      ASSERT_TRUE(gpu) << given.wanted << ": " << gpu.error().what;
      EXPECT_EQ(gpu->physical, given.physical) << given.wanted;
    }
  }
}

TEST(DeviceIds, NotesForALaunch) {
  Machine machine;
  EXPECT_TRUE(device_notes(machine, {{"CUDA_VISIBLE_DEVICES", ""}}, 8).empty())
      << "no GPU, no word";
  for (int i = 0; i < 2; ++i) {
    GpuFacts gpu;
    gpu.index = i;
    gpu.uuid = "GPU-" + std::to_string(i);
    machine.gpus.push_back(gpu);
  }
  struct Case {
    Environment environment;
    int ranks;
    const char* says;  // "" for nothing
  };
  const Case cases[] = {{{}, 2, ""},
                        {{}, 1, "the first one is used"},
                        {{}, 4, "up to 4 ranks on 2 visible GPUs"},
                        {{{"CUDA_VISIBLE_DEVICES", "1"}}, 1, ""},
                        {{{"CUDA_VISIBLE_DEVICES", "1"}}, 2, "on 1 visible GPU:"},
                        {{{"CUDA_VISIBLE_DEVICES", ""}}, 2, "hides every GPU"},
                        {{{"FLAGS_selected_gpus", "2"}}, 1, "no GPU 2"},
                        {{{"FLAGS_selected_gpus", "1"}}, 1, ""}};
  for (const Case& given : cases) {
    const auto notes = device_notes(machine, given.environment, given.ranks);
    EXPECT_EQ(notes.empty(), *given.says == 0) << given.says;
    EXPECT_THAT(notes.empty() ? "" : notes.front(), HasSubstr(given.says));
  }
}

}  // namespace
}  // namespace ocrtune
