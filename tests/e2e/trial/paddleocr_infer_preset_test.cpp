#include "trial/workloads/command/paddleocr_infer_preset.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "trial/answers/answer_places.h"
#include "trial/workloads/command/command_prepare.h"

namespace ocrtune {
namespace {

using testing::Contains;
using testing::HasSubstr;

class PaddleOcrInferPreset : public testing::Test {
 protected:
  void SetUp() override { ::unsetenv("CUDA_VISIBLE_DEVICES"); }

  static PreparedCommand command(const std::string& more, std::vector<std::string> knobs) {
    PreparedCommand prepared;
    prepared.workload.command =
        words("python tools/infer/predict_system.py --image_dir=/tmp " + more);
    prepared.workload.knobs = std::move(knobs);
    return prepared;
  }
  static Machine with_gpus(int count) {
    Machine machine;
    for (int i = 0; i < count; ++i) {
      machine.gpus.emplace_back();
      machine.gpus.back().index = i;
      machine.gpus.back().uuid = std::string("GPU-") + static_cast<char>('a' + i);
    }
    return machine;
  }
};

TEST_F(PaddleOcrInferPreset, ThreadsCountOnlyWithMkldnn) {
  PreparedCommand without = command("--use_gpu=False", {"threads"});
  const Status refused = apply_paddleocr_infer_preset(without, Machine());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_THAT(refused.error().what, HasSubstr("--enable_mkldnn=True"));
  PreparedCommand with = command("--use_gpu False --enable_mkldnn True", {"threads", "nproc"});
  ASSERT_TRUE(apply_paddleocr_infer_preset(with, Machine()));
  EXPECT_THAT(with.launch, Contains("--cpu_threads={threads}"));
  EXPECT_THAT(with.launch, Contains("--use_mp=True"));
  EXPECT_THAT(with.launch, Contains("--total_process_num={nproc}"));
  EXPECT_EQ(with.workload.log_reader, "paddleocr-infer");
}

TEST_F(PaddleOcrInferPreset, EachGpuGetsOneProcessAndItsOwnShare) {
  PreparedCommand prepared = command("", {"nproc"});
  ASSERT_TRUE(apply_paddleocr_infer_preset(prepared, with_gpus(2)));
  ASSERT_GT(prepared.launch.size(), 3u);
  EXPECT_EQ(prepared.launch[0], "sh");
  EXPECT_THAT(prepared.launch[2], HasSubstr("CUDA_VISIBLE_DEVICES=$(echo 0,1 | cut"));
  EXPECT_THAT(prepared.launch[2], HasSubstr("--process_id=$i --total_process_num={nproc}"));
  Knobs knobs;
  knobs.nproc = 2;
  EXPECT_FALSE(prepared.refuse(knobs));
  knobs.nproc = 3;
  ASSERT_TRUE(prepared.refuse(knobs));
  EXPECT_THAT(prepared.refuse(knobs)->reason, HasSubstr("3 processes on 2 GPUs"));
  ::setenv("CUDA_VISIBLE_DEVICES", "GPU-b,GPU-a", 1);
  PreparedCommand chosen = command("", {"nproc"});
  ASSERT_TRUE(apply_paddleocr_infer_preset(chosen, with_gpus(4)));
  EXPECT_THAT(chosen.launch[2], HasSubstr("echo GPU-b,GPU-a"));
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_F(PaddleOcrInferPreset, WhatMayBeTurned) {
  PreparedCommand gpu = command("", {});
  ASSERT_TRUE(apply_paddleocr_infer_preset(gpu, with_gpus(2)));
  EXPECT_EQ(gpu.turnable, (std::vector<std::string>{"nproc", "batch"}));
  EXPECT_EQ(gpu.gpus, 2);
  ASSERT_TRUE(gpu.current);
  EXPECT_EQ(gpu.current->nproc, 1);
  EXPECT_EQ(gpu.current->batch, 6);
  PreparedCommand cpu = command("--enable_mkldnn=True --use_gpu=False --rec_batch_num=30", {});
  ASSERT_TRUE(apply_paddleocr_infer_preset(cpu, with_gpus(2)));
  EXPECT_EQ(cpu.turnable, (std::vector<std::string>{"nproc", "batch", "threads"}));
  EXPECT_EQ(cpu.gpus, 0);
  EXPECT_EQ(cpu.current->batch, 30);
  EXPECT_EQ(cpu.current->threads, 10);
}

// The shell line really starts the processes, each with its device and share.
TEST_F(PaddleOcrInferPreset, TheGpuLineRuns) {
  const std::string folder = *make_temporary_directory("preset");
  const std::string program = folder + "/predict_system.py";
  ASSERT_TRUE(write_file(program, "echo $CUDA_VISIBLE_DEVICES $* >>" + folder + "/said\n"));
  PreparedCommand prepared;
  prepared.workload.command = {"sh", program, "--image_dir=/tmp"};
  prepared.workload.knobs = {"nproc"};
  prepared.workload.preset = "paddleocr-infer";
  const auto ready = prepare_command(prepared.workload, with_gpus(2));
  ASSERT_TRUE(ready) << ready.error().what;
  Knobs knobs;
  knobs.nproc = 2;
  ASSERT_EQ(std::system(launch_text(*launch_of(*ready, with_gpus(2), knobs)).c_str()), 0);
  const std::string said = read_file(folder + "/said").value_or("");
  EXPECT_THAT(said,
              HasSubstr("0 --image_dir=/tmp --use_mp=False --process_id=0 --total_process_num=2"));
  EXPECT_THAT(said,
              HasSubstr("1 --image_dir=/tmp --use_mp=False --process_id=1 --total_process_num=2"));
  EXPECT_TRUE(remove_tree(folder));
}

TEST_F(PaddleOcrInferPreset, PredictRecIsTimedRunByRun) {
  const auto prepared = [](std::vector<std::string> knobs) {
    PreparedCommand command;
    command.workload.command = words("python tools/infer/predict_rec.py --image_dir=/tmp");
    command.workload.knobs = std::move(knobs);
    command.workload.log_reader = "runs:200";
    const Status status = apply_paddleocr_infer_preset(command, Machine());
    return status ? join(command.turnable, " ") : status.error().what;
  };
  EXPECT_EQ(prepared({"batch"}), "batch");
  EXPECT_THAT(prepared({"nproc"}), HasSubstr("one process"));
}

// As Python prints a text that holds an apostrophe.
TEST_F(PaddleOcrInferPreset, ATextIsReadInEitherQuotes) {
  PreparedCommand prepared = command("", {});
  ASSERT_TRUE(apply_paddleocr_infer_preset(prepared, Machine()));
  const auto places = AnswerPlaces::parse(prepared.workload.answers);
  ASSERT_TRUE(places) << places.error().what;
  AnswerCollector collector(*places);
  const std::string head = "[2026/11/26 12:43:48] ppocr INFO: Predicts of ";
  collector.read_line(head + "a.png:('total 4716', 0.9988707304000854)");
  collector.read_line(head + R"x(b.png:("Smith's", 8.3e-05))x");
  collector.end_run();
  const CommandAnswers answers = collector.take();
  EXPECT_THAT(answers.inputs, testing::ElementsAre("a.png", "b.png"));
  EXPECT_EQ(answers.bodies[1][0], R"({"text":["Smith's"]})");
}

TEST_F(PaddleOcrInferPreset, WrongUseIsNamed) {
  const auto error_of = [](const std::string& line, std::vector<std::string> knobs) {
    PreparedCommand prepared;
    prepared.workload.command = words(line);
    prepared.workload.knobs = std::move(knobs);
    const Status status = apply_paddleocr_infer_preset(prepared, Machine());
    return status ? std::string() : status.error().what;
  };
  EXPECT_THAT(error_of("python predict_rec.py --image_dir=/tmp", {}), HasSubstr("runs:IMAGES"));
  EXPECT_THAT(error_of("python train.py", {}), HasSubstr("predict_system"));
  EXPECT_THAT(error_of("python predict_system.py", {}), HasSubstr("--image_dir"));
  EXPECT_THAT(error_of("python predict_system.py --image_dir /no/such", {}), HasSubstr("/no/such"));
  EXPECT_THAT(error_of("python predict_system.py --image_dir /tmp", {"workers"}),
              HasSubstr("loader workers"));
}

}  // namespace
}  // namespace ocrtune
