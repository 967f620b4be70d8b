// `ocrtune tune --preset paddleocr` on two GPUs out of a text file, with programs that behave like
// Paddle's launcher and PaddleOCR's trainer: a GPU holds a batch of 256 and not one of 512.
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "tests/support/answered.h"
#include "tests/support/ran.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kLauncher = R"(
import os, subprocess, sys
words = sys.argv[1:]
gpus, count, folder = "0,1", 0, "log"
while words[0].startswith("--"):
    name, _, value = words.pop(0).partition("=")
    value = value or words.pop(0)
    if name in ("--gpus", "--devices"): gpus = value
    if name == "--nproc_per_node": count = int(value)
    if name == "--log_dir": folder = value
devices = gpus.split(",")
assert count in (0, len(devices)), "list index out of range"
os.makedirs(folder, exist_ok=True)
ranks = [subprocess.Popen([sys.executable, *words], stdout=open(f"{folder}/workerlog.{i}", "w"),
                          stderr=subprocess.STDOUT,
                          env=dict(os.environ, PADDLE_TRAINER_ID=str(i), FLAGS_selected_gpus=d))
         for i, d in enumerate(devices)]
sys.exit(max(rank.wait() for rank in ranks))
)";

constexpr const char* kTrainer = R"(
import sys, time
keys = dict(word.split("=", 1) for word in sys.argv if "=" in word)
batch = int(keys.get("Train.loader.batch_size_per_card", 128))
workers = int(keys.get("Train.loader.num_workers", 4))
if batch > 256:
    print("Out of memory error on GPU 0. Cannot allocate 2.1GB memory on GPU 0, 23.1GB memory has "
          "been allocated and available memory is only 500.0MB.")
    sys.exit(1)
rate = 10000 * batch / (batch + 64) * (0.7 if workers == 0 else 1.0)
step = 0
while True:
    time.sleep(2 * batch / rate)
    step += 2
    print(f"[2026/01/01 00:00:00] ppocr INFO: epoch: [1/1000], global_step: {step}, loss: 1.5, "
          f"avg_reader_cost: 0.001 s, avg_batch_cost: {batch / rate:.5f} s, avg_samples: {batch}, "
          f"ips: {rate:.5f} samples/s, eta: 0:10:00", flush=True)
)";

class PaddleOnGpus : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("paddle_gpus");
    put("paddle/__init__.py", "");
    put("paddle/distributed/__init__.py", "");
    put("paddle/distributed/launch.py", kLauncher);
    put("tools/train.py", kTrainer);
    std::string lines;
    for (int i = 0; i < 4000; ++i) lines += "a.png\tb\n";
    put("labels.txt", lines);
    put("cfg.yml",
        "Global:\n  use_gpu: true\n  epoch_num: 20\nTrain:\n  dataset:\n"
        "    name: SimpleDataSet\n    label_file_list: [labels.txt]\n"
        "  loader:\n    batch_size_per_card: 128\n    num_workers: 1\n");
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }

  void put(const std::string& name, const std::string& text) const {
    const std::string path = join_path(folder_, name);
    ASSERT_TRUE(make_directories(parent_path(path)));
    ASSERT_TRUE(write_file(path, text));
  }
  int tune(const std::string& flags, const std::string& command, const std::string& more = "") {
    const std::string line = "cd " + folder_ + " && PYTHONPATH=" + folder_ +
                             " OCRTUNE_NVML_PATH=" + OCRTUNE_NVML_STUB_LIBRARY +
                             " OCRTUNE_NVML_STUB=" + OCRTUNE_SOURCE_DIR +
                             "/tests/fixtures/gpu_boxes/2x4090.txt " + more + " " + OCRTUNE_BINARY +
                             " tune --preset paddleocr --db runs.sqlite " + flags + " -- " +
                             command + " 2>&1";
    Ran ran = run_line(line);
    out_ = std::move(ran.out);
    return ran.code;
  }

  std::string folder_, out_;
};

TEST_F(PaddleOnGpus, TheGpusDecideTheSpace) {
  const std::string launch = "python3 -m paddle.distributed.launch ";
  ASSERT_EQ(tune("--dry-run", launch + "--gpus 0,1 tools/train.py -c cfg.yml"), 0) << out_;
  EXPECT_THAT(out_, HasSubstr("Baseline: nproc=2 threads=1 batch=128 workers=1"));
  EXPECT_THAT(out_, HasSubstr("  nproc      1 2\n"));
  EXPECT_THAT(out_, HasSubstr("  batch      32 64 128 256 512\n"));
  EXPECT_THAT(out_, HasSubstr("  p2p        auto off\n"));
  EXPECT_THAT(out_, HasSubstr(" --gpus 0,1 tools/train.py"));
  EXPECT_THAT(out_, HasSubstr(" --gpus 0 tools/train.py"));
  EXPECT_THAT(out_, Not(HasSubstr("no device was named")));
  EXPECT_THAT(out_, Not(HasSubstr("OMP_NUM_THREADS=1")));

  // Without --gpus Paddle takes all that are visible.
  ASSERT_EQ(tune("--dry-run", launch + "tools/train.py -c cfg.yml", "CUDA_VISIBLE_DEVICES=1"), 0);
  EXPECT_THAT(out_, HasSubstr("Baseline: nproc=1 "));
  EXPECT_THAT(out_, Not(HasSubstr("  nproc ")));
  EXPECT_THAT(out_, Not(HasSubstr("  p2p ")));

  ASSERT_EQ(tune("--dry-run", "python3 tools/train.py -c cfg.yml"), 0);
  EXPECT_THAT(out_, HasSubstr("uses one of 2 visible GPUs"));

  // On the CPUs, as the command says.
  ASSERT_EQ(tune("--dry-run", launch + "tools/train.py -c cfg.yml -o Global.use_gpu=False"), 0);
  EXPECT_THAT(out_, HasSubstr("  threads "));
  EXPECT_THAT(out_, Not(HasSubstr("--gpus")));
  ASSERT_EQ(tune("--dry-run --nproc 1,2 --batch 32,64",
                 launch + "tools/train.py -c cfg.yml -o Global.use_gpu=False"),
            0);
  EXPECT_THAT(out_, HasSubstr("  threads ")) << "lists of the others leave it a knob";
}

TEST_F(PaddleOnGpus, BothGpusAndTheLargestBatchThatFits) {
  const int code =
      tune("--workers 0,1 --binding none --budget 40s --trial-time 300ms --json",
           "python3 -m paddle.distributed.launch --gpus 0,1 tools/train.py -c cfg.yml");
  ASSERT_TRUE(answered(code, out_)) << out_;
  const auto start = out_.find("\n{");
  const auto json = nlohmann::json::parse(start == std::string::npos ? "" : out_.substr(start + 1),
                                          nullptr, false);
  ASSERT_TRUE(json.is_object()) << out_;
  // On a machine too busy to prove its lead the start stays.
  const char* best = json["contender"].is_null() ? "recommendation" : "contender";
  const auto& knobs = json[best]["knobs"];
  EXPECT_EQ(knobs["nproc"], 2) << out_;
  EXPECT_EQ(knobs["batch"], 128) << "the global batch of 256 is kept";
  const auto& beyond = json["recipe"]["beyond"];
  ASSERT_TRUE(beyond.is_object()) << out_;
  EXPECT_EQ(beyond["knobs"]["batch"], 256) << "the largest that fits, by another recipe";
  EXPECT_EQ(knobs["workers"], 1) << out_;
  EXPECT_THAT(json["recommendation"]["command"].get<std::string>(), HasSubstr("--gpus 0,1 "));
  // What does not fit one GPU is tried once, with one process or two.
  EXPECT_LE(json["outcomes"].value("out_of_memory", 0), 1) << out_;
}

TEST_F(PaddleOnGpus, ACommandOfAnyKindNamesItsGpus) {
  const std::string torch = " -- sh -c 'echo $CUDA_VISIBLE_DEVICES {batch}'";
  const std::string flags =
      " tune --env CUDA_VISIBLE_DEVICES={gpus} --log-reader torch --nproc 1,2 ";
  const auto run = [&](const std::string& box) {
    const std::string line = std::string("OCRTUNE_NVML_PATH=") + OCRTUNE_NVML_STUB_LIBRARY +
                             " OCRTUNE_NVML_STUB=" + OCRTUNE_SOURCE_DIR +
                             "/tests/fixtures/gpu_boxes/" + box + ".txt " + OCRTUNE_BINARY + flags +
                             "--dry-run" + torch + " 2>&1";
    Ran ran = run_line(line);
    out_ = std::move(ran.out);
    return ran.code;
  };
  ASSERT_EQ(run("2x4090"), 0) << out_;
  EXPECT_THAT(out_, HasSubstr("CUDA_VISIBLE_DEVICES=0 sh"));
  EXPECT_THAT(out_, HasSubstr("CUDA_VISIBLE_DEVICES=0,1 sh"));
  EXPECT_EQ(run("no-gpu"), 3) << out_;
  EXPECT_THAT(out_, HasSubstr("{gpus}: no GPU is visible here"));
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 1) << out_;
}

}  // namespace
}  // namespace ocrtune
