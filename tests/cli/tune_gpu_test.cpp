// `ocrtune tune --device ...` as a user types it, on boxes out of a text file.
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"

namespace ocrtune {
namespace {

struct Ran {
  int code = -1;
  std::string out;
};

class TuneOnGpus : public testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("tune_gpu"); }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }

  Ran run(const std::string& box, const std::string& arguments, const std::string& more = "") {
    const std::string line = "OCRTUNE_NVML_PATH=" + std::string(OCRTUNE_NVML_STUB_LIBRARY) +
                             " OCRTUNE_NVML_STUB=" + OCRTUNE_SOURCE_DIR +
                             "/tests/probes/gpu_boxes/" + box +
                             ".txt OCRTUNE_GPU_WORKER=" + OCRTUNE_FAKE_GPU_WORKER +
                             " OCRTUNE_FAKE_RANK=" + OCRTUNE_FAKE_WORKER + " " + more + " " +
                             OCRTUNE_BINARY + " " + arguments + " 2>&1";
    Ran ran;
    std::FILE* pipe = ::popen(line.c_str(), "r");
    char block[4096];
    for (std::size_t got = 0; (got = std::fread(block, 1, sizeof block, pipe)) > 0;) {
      ran.out.append(block, got);
    }
    const int status = ::pclose(pipe);
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return ran;
  }
  std::string db() const { return " --db " + join_path(folder_, "runs.sqlite"); }

  std::string folder_;
};

TEST_F(TuneOnGpus, WithoutAGpuOneLineAndCode3) {
  for (const char* box : {"no-driver", "no-gpu"}) {
    const Ran ran = run(box, "tune --device gpu --budget 10s" + db());
    EXPECT_EQ(ran.code, 3) << ran.out;
    EXPECT_NE(ran.out.find("--device gpu: no GPU"), std::string::npos) << ran.out;
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;
    const Ran worker = run(box, "worker nproc=1 backend=cuda");
    EXPECT_EQ(worker.code, 3) << worker.out;
    EXPECT_EQ(std::count(worker.out.begin(), worker.out.end(), '\n'), 1) << worker.out;
  }
  const Ran hidden =
      run("2x4090", "tune --device gpu --budget 10s" + db(), "CUDA_VISIBLE_DEVICES=-1");
  EXPECT_EQ(hidden.code, 3) << hidden.out;
  EXPECT_NE(hidden.out.find("no GPU is visible"), std::string::npos) << hidden.out;
  const Ran wrong = run("2x4090", "tune --device gpu --gpus 5 --budget 10s" + db());
  EXPECT_EQ(wrong.code, 3) << wrong.out;
  EXPECT_EQ(std::count(wrong.out.begin(), wrong.out.end(), '\n'), 1) << wrong.out;
}

TEST_F(TuneOnGpus, ReadingOnGpusSaysWhatIsMissing) {
  ASSERT_EQ(run("no-gpu", "make-data " + join_path(folder_, "lines") + " --count 4").code, 0);
  const std::string lines = "infer " + join_path(folder_, "lines");
  const Ran none = run("no-driver", lines + " --device gpu");
  EXPECT_EQ(none.code, 3) << none.out;
  EXPECT_NE(none.out.find("--device gpu: no GPU"), std::string::npos) << none.out;
  const Ran three = run("2x4090", lines + " --device gpu --nproc 3");
  EXPECT_EQ(three.code, 2) << three.out;
  EXPECT_NE(three.out.find("--share-gpus"), std::string::npos) << three.out;
  const Ran cpu = run("2x4090", lines + " --nproc 1 --output " + join_path(folder_, "r.tsv"));
  EXPECT_EQ(cpu.code, 0) << cpu.out;
  EXPECT_EQ(cpu.out.find("GPU-"), std::string::npos) << "a GPU is used only where one is asked for";
  const Ran two =
      run("2x4090", lines + " --device gpu --json --output " + join_path(folder_, "r.tsv"));
  EXPECT_EQ(two.code, 0) << two.out;
  EXPECT_NE(two.out.find("\"gpu_bytes_source\": \"NVML\""), std::string::npos) << two.out;
}

TEST_F(TuneOnGpus, WhatDoesNotFitTheGpuIsRefusedBeforeAnythingRuns) {
  const std::string faults = join_path(folder_, "faults.txt");
  ASSERT_TRUE(write_file(faults, "ready mode=little_memory\n"));
  const Ran ran =
      run("2x4090", "tune --device gpu --budget 10s" + db(), "OCRTUNE_FAKE_GPU=" + faults);
  EXPECT_EQ(ran.code, 3) << ran.out;
  EXPECT_NE(ran.out.find("free on the fullest GPU"), std::string::npos) << ran.out;
}

TEST_F(TuneOnGpus, TheGpusDecideTheSpace) {
  const Ran ran = run("2x4090", "tune --device gpu --dry-run --budget 1m");
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_NE(ran.out.find("on 2 GPUs"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("nproc      1 2\n"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("precision  fp32 tf32 bf16"), std::string::npos) << ran.out;
  const Ran cpu = run("2x4090", "tune --device cpu --dry-run --budget 1m");
  EXPECT_EQ(cpu.code, 0) << cpu.out;
  EXPECT_EQ(cpu.out.find("tf32"), std::string::npos) << cpu.out;
  EXPECT_EQ(run("2x4090", "tune --device gpu --dry-run -- true {batch}").code, 2);
}

TEST_F(TuneOnGpus, TunesAndReports) {
  const Ran ran = run("2x4090",
                      "tune --device gpu --batch 8,16 --precision fp32 --workers 0 "
                      "--p2p auto --ctas auto --trial-time 200ms --budget 20s --json" +
                          db() + " | sed -n '/^{/,$p'");
  const auto json = nlohmann::json::parse(ran.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << ran.out;
  EXPECT_EQ(json["recommendation"]["knobs"]["backend"], "cuda") << ran.out;
  EXPECT_GT(json["recommendation"]["peak_bytes"].get<double>(), 1e9);
  EXPECT_NE(json["recommendation"]["command"].get<std::string>().find("CUDA_VISIBLE_DEVICES=GPU-"),
            std::string::npos);
}

}  // namespace
}  // namespace ocrtune
