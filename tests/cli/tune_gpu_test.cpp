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

// The process that stands for a GPU trains on the CPUs, so the checkpoint is the CPUs' own.
TEST_F(TuneOnGpus, TrainsInAProcessOfItsOwn) {
  const std::string lines = join_path(folder_, "lines"), kept = join_path(folder_, "a.ckpt");
  ASSERT_EQ(run("no-gpu", "make-data " + lines + " --count 20").code, 0);
  const std::string train = "train " + lines + " --model crnn --width 64 --batch 4 --checkpoint " +
                            kept + " --report-every 2 ";
  const Ran none = run("no-driver", train + "--steps 2 --device gpu");
  EXPECT_EQ(none.code, 3) << none.out;
  EXPECT_NE(none.out.find("--device gpu: no GPU"), std::string::npos) << none.out;
  EXPECT_EQ(std::count(none.out.begin(), none.out.end(), '\n'), 1) << none.out;
  const Ran two = run("2x4090", train + "--steps 2 --device gpu");
  EXPECT_EQ(two.code, 2) << two.out;
  EXPECT_NE(two.out.find("--gpus names one"), std::string::npos) << two.out;

  const std::string on_gpu = train + "--steps 4 --device gpu --gpus 1 --evaluate " + lines;
  const Ran done = run("2x4090", on_gpu, "OCRTUNE_FAKE_FIT=noise");
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_NE(done.out.find("training on GPU-"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("step 4 loss "), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("of 20 lines without an error"), std::string::npos) << done.out;
  const Ran on = run("no-driver", train + "--steps 6 --resume auto");  // on the CPUs
  EXPECT_EQ(on.code, 0) << on.out;
  EXPECT_NE(on.out.find("step 6 loss "), std::string::npos) << on.out;
  EXPECT_EQ(on.out.find("step 2 loss "), std::string::npos) << on.out;
}

TEST_F(TuneOnGpus, ATrainingThatFailsSaysWhy) {
  const std::string lines = join_path(folder_, "lines");
  ASSERT_EQ(run("no-gpu", "make-data " + lines + " --count 8").code, 0);
  const std::string train =
      "train " + lines + " --width 64 --batch 4 --steps 2 --device gpu --gpus 0 ";
  const Ran full = run("2x4090", train, "OCRTUNE_FAKE_FIT=memory");
  EXPECT_EQ(full.code, 3) << full.out;
  EXPECT_NE(full.out.find("the GPU has 1 GiB free"), std::string::npos) << full.out;
  const Ran dead = run("2x4090", train, "OCRTUNE_FAKE_FIT=segv");
  EXPECT_NE(dead.code, 0) << dead.out;
  EXPECT_NE(dead.out.find("killed by SIGSEGV"), std::string::npos) << dead.out;
  const Ran wide = run("2x4090", train + "--width-buckets 2");
  EXPECT_EQ(wide.code, 3) << wide.out;
  const Ran backend = run("2x4090", train + "--backend reference");
  EXPECT_EQ(backend.code, 2) << backend.out;
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
