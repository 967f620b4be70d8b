// `ocrtune tune --device ...` as a user types it, on boxes out of a text file.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "tests/support/ran.h"

namespace ocrtune {
namespace {

class TuneOnGpus : public testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("tune_gpu"); }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }

  Ran run(const std::string& box, const std::string& arguments, const std::string& more = "") {
    return run_line("OCRTUNE_NVML_PATH=" + std::string(OCRTUNE_NVML_STUB_LIBRARY) +
                    " OCRTUNE_NVML_STUB=" + OCRTUNE_SOURCE_DIR + "/tests/fixtures/gpu_boxes/" +
                    box + ".txt OCRTUNE_GPU_WORKER=" + OCRTUNE_FAKE_GPU_WORKER +
                    " OCRTUNE_FAKE_RANK=" + OCRTUNE_FAKE_WORKER + " " + more + " " +
                    OCRTUNE_BINARY + " " + arguments + " 2>&1");
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

TEST_F(TuneOnGpus, TrainsOnAllThatAreNamed) {
  const std::string lines = join_path(folder_, "lines"), kept = join_path(folder_, "b.ckpt");
  ASSERT_EQ(run("no-gpu", "make-data " + lines + " --count 20").code, 0);
  const std::string train = "train " + lines + " --model crnn --width 64 --batch 4 --device gpu " +
                            "--checkpoint " + kept + " --report-every 2 --resume auto ";
  const Ran two = run("2x4090", train + "--gpus 0,1 --steps 4 --evaluate " + lines);
  EXPECT_EQ(two.code, 0) << two.out;
  EXPECT_NE(two.out.find("training on GPU-4090-0, GPU-4090-1: 2 ranks, each with 4 lines a step\n"),
            std::string::npos)
      << two.out;
  EXPECT_NE(two.out.find("step 4 loss "), std::string::npos) << two.out;
  EXPECT_NE(two.out.find("of 20 lines without an error"), std::string::npos) << two.out;
  const Ran dead = run("2x4090", train + "--steps 8", "OCRTUNE_FAKE_FIT=segv-later:GPU-4090-1");
  EXPECT_EQ(dead.code, 3) << dead.out;
  EXPECT_NE(dead.out.find("rank 1 on GPU-4090-1 ended without an answer: killed by SIGSEGV\n"),
            std::string::npos)
      << dead.out;
  const Ran all = run("2x4090", train + "--steps 6");
  EXPECT_EQ(all.code, 0) << all.out;
  EXPECT_NE(all.out.find("step 6 loss "), std::string::npos) << all.out;
  EXPECT_EQ(all.out.find("step 4 loss "), std::string::npos) << "it goes on, not anew";
  const std::string faults = join_path(folder_, "faults.txt");
  ASSERT_TRUE(write_file(faults, "ready mode=no_nccl\n"));
  const Ran one = run("2x4090", train + "--steps 8", "OCRTUNE_FAKE_GPU=" + faults);
  EXPECT_EQ(one.code, 0) << one.out;
  EXPECT_NE(one.out.find("on one GPU alone, several cannot train together: libnccl"),
            std::string::npos)
      << one.out;
}

// Rank 0 saves while the other waits, and then neither is left.
TEST_F(TuneOnGpus, AnInterruptedTrainingOfTwoIsKept) {
  const std::string lines = join_path(folder_, "lines"), kept = join_path(folder_, "c.ckpt");
  const std::string said = join_path(folder_, "said.txt");
  ASSERT_EQ(run("no-gpu", "make-data " + lines + " --count 20").code, 0);
  const Ran ran =
      run("2x4090", "train " + lines + " --width 64 --batch 4 --steps 1000000 --device gpu " +
                        "--report-every 2 --save-every 0 --checkpoint " + kept + " >" + said +
                        " 2>&1 & pid=$!; until grep -q '^step' " + said +
                        " || ! kill -0 $pid; do sleep 0.1; done; kill -INT $pid; wait $pid; "
                        "echo code=$?; pgrep -cf '^[^ ]*fake_worker fit .*" +
                        folder_ + "'; cat " + said);
  EXPECT_NE(ran.out.find("code=130\n0\n"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("go on with --resume auto"), std::string::npos) << ran.out;
  EXPECT_TRUE(path_exists(kept));
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

// From the search to the line that it recommends, the stored run and its page.
TEST_F(TuneOnGpus, ReadingIsTunedOverSharedGpus) {
  const std::string lines = join_path(folder_, "lines"), out = join_path(folder_, "out");
  ASSERT_EQ(run("no-gpu", "make-data " + lines + " --count 12").code, 0);
  const Ran ran =
      run("2x4090", "tune --mode infer --device gpu --gpus 1 --data " + lines +
                        " --nproc 2 --threads 1 --batch 4,8 --queue shared --trial-time "
                        "200ms --budget 8s --json --out " +
                        out + db() + " | sed -n '/^{/,$p'");
  const auto json = nlohmann::json::parse(ran.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << ran.out;
  ASSERT_TRUE(json["found"].get<bool>()) << ran.out;
  const auto& answer = json["recommendation"];
  EXPECT_EQ(answer["knobs"]["backend"], "cuda");
  EXPECT_EQ(answer["peak_bytes"], std::uint64_t{1400} << 20) << "two processes on one GPU";
  EXPECT_EQ(answer["limit_bytes"], 20'000'000'000) << "the GPU's, not the machine's";
  ASSERT_EQ(answer["gpus"].size(), 1u);
  const std::string command = answer["command"].get<std::string>();
  EXPECT_NE(command.find(" --device gpu --gpus GPU-"), std::string::npos) << command;
  EXPECT_NE(command.find(" --share-gpus --nproc 2"), std::string::npos) << command;
  // The line does what it says.
  ASSERT_EQ(command.rfind("ocrtune ", 0), 0u) << command;
  const Ran typed = run("2x4090", command.substr(8) + " --json --output /dev/null");
  EXPECT_EQ(typed.code, 0) << typed.out;
  EXPECT_NE(typed.out.find(answer["gpus"][0].get<std::string>()), std::string::npos) << typed.out;
  // The store has it all: shown again without a GPU, and as a page.
  const Ran shown = run("no-driver", "show last --all" + db());
  EXPECT_EQ(shown.code, json["verdict"] == "inconclusive" ? 1 : 0) << shown.out;
  EXPECT_NE(shown.out.find("gpus     2 processes on GPU-"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("on the fullest GPU"), std::string::npos) << shown.out;
  const auto page = read_file(join_path(out, "report.html"));
  ASSERT_TRUE(page);
  EXPECT_NE(page->find("Peak memory of the fullest GPU"), std::string::npos);
  const Ran verified = run("2x4090", "verify last --for 3s" + db());
  EXPECT_NE(verified.code, 2) << verified.out;
  EXPECT_NE(verified.code, 3) << verified.out;
}

// A busy machine may prove no rate in so short a time: that is said, and tried once more.
TEST_F(TuneOnGpus, AnSloOnGpusIsTuned) {
  nlohmann::json json = nlohmann::json::object();
  for (int i = 0; i < 3 && !json.value("found", false); ++i) {
    const Ran ran = run("2x4090",
                        "tune --mode infer --device gpu --slo p90=60ms --width 64 --nproc 2 "
                        "--threads 1 --batch 4 --queue shared --trial-time 2s --budget 9s --json" +
                            db() + " | sed -n '/^{/,$p'");
    json = nlohmann::json::parse(ran.out, nullptr, false);
    ASSERT_TRUE(json.is_object()) << ran.out;
    for (const auto& [outcome, count] : json["outcomes"].items()) {
      EXPECT_TRUE(outcome == "ok" || outcome == "timed_out" || outcome == "skipped") << ran.out;
    }
  }
  if (!json["found"].get<bool>()) {
    EXPECT_NE(json["answer"].get<std::string>().find("was proved to keep p90"), std::string::npos)
        << json["answer"];
    GTEST_SKIP() << "too busy a machine to prove a rate";
  }
  EXPECT_EQ(json["recommendation"]["gpus"].size(), 2u);
  EXPECT_EQ(json["recommendation"]["peak_bytes"], std::uint64_t{700} << 20);
}

TEST_F(TuneOnGpus, ReadingOnGpusHasItsOwnSpace) {
  const std::string tune = "tune --mode infer --dry-run --budget 1m ";
  const Ran ran = run("2x4090", tune + "--device gpu");
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_NE(ran.out.find("on 2 GPUs"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("nproc      1 2 4 6 8\n"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("tf32"), std::string::npos) << ran.out;
  const Ran listed = run("2x4090", tune + "--device gpu --precision fp32,bf16");
  EXPECT_NE(listed.out.find("precision  fp32 bf16"), std::string::npos) << listed.out;
  const Ran automatic = run("2x4090", tune);
  EXPECT_NE(automatic.out.find("on 2 GPUs"), std::string::npos) << automatic.out;
  for (const std::string& cpus : {tune + "--device cpu", tune + "--backend onednn"}) {
    const Ran cpu = run("2x4090", cpus);
    EXPECT_EQ(cpu.code, 0) << cpu.out;
    EXPECT_EQ(cpu.out.find("GPU"), std::string::npos) << cpu.out;
  }
  EXPECT_EQ(run("no-driver", tune).code, 0);
}

TEST_F(TuneOnGpus, ReadingOnGpusThatCannotBeIsOneLine) {
  const std::string faults = join_path(folder_, "faults.txt");
  ASSERT_TRUE(write_file(faults, "ready mode=little_memory\n"));
  const std::string tune = "tune --mode infer --device gpu --budget 30s" + db();
  struct Case {
    std::string box, arguments, more, words;
    int code;
  };
  const std::vector<Case> cases = {
      {"no-driver", "", "", "--device gpu: no GPU", 3},
      {"no-gpu", "", "", "--device gpu: no GPU", 3},
      {"2x4090", "", "CUDA_VISIBLE_DEVICES=-1", "no GPU is visible", 3},
      {"2x4090", " --gpus 5", "", "5", 3},
      {"2x4090", "", "OCRTUNE_FAKE_GPU=" + faults, "free on the fullest GPU", 3},
      {"2x4090", " --url http://127.0.0.1:1/", "", "of your own takes its devices", 2},
      {"2x4090", " -- cat", "", "of your own takes its devices", 2},
  };
  for (const Case& one : cases) {
    const Ran ran = run(one.box, tune + one.arguments, one.more);
    EXPECT_EQ(ran.code, one.code) << one.arguments << ran.out;
    EXPECT_NE(ran.out.find(one.words), std::string::npos) << one.arguments << ran.out;
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;
  }
  // Nobody asked for the GPU: the CPUs do it, and it is said why.
  const Ran cpu =
      run("2x4090", "tune --mode infer --dry-run --budget 1m", "OCRTUNE_FAKE_GPU=" + faults);
  EXPECT_EQ(cpu.code, 0) << cpu.out;
  EXPECT_NE(cpu.out.find("on the CPUs: "), std::string::npos) << cpu.out;
}

TEST_F(TuneOnGpus, TunesAndReports) {
  const Ran ran = run("2x4090",
                      "tune --device gpu --batch 8,16 --precision fp32 --workers 0 "
                      "--p2p auto --ctas auto --trial-time 200ms --budget 8s --json" +
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
