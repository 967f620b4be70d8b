#include "cli/tune/job_flags.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

// Position of the kind in Job.
std::size_t kind_of(const JobFlags& typed) { return job_of(typed).kind.index(); }

JobFlags with_command() {
  JobFlags typed;
  typed.program.command = {"python3", "app.py"};
  return typed;
}

TEST(JobFlags, WithoutACommandAndAnAddressTheEngineWorks) {
  JobFlags typed;
  EXPECT_EQ(kind_of(typed), 0U) << "it trains";
  typed.mode = "infer";
  EXPECT_EQ(kind_of(typed), 1U) << "it reads";
}

TEST(JobFlags, ACommandTrainsOrMeasuresItself) {
  JobFlags typed = with_command();
  EXPECT_TRUE(job_of(typed).prints());
  EXPECT_FALSE(job_of(typed).infers());
  typed.mode = "infer";
  for (std::string* how :
       {&typed.program.log_reader, &typed.program.metric, &typed.program.preset}) {
    *how = "x";
    EXPECT_EQ(kind_of(typed), 2U) << "a command that says how fast it reads";
    EXPECT_TRUE(job_of(typed).infers());
    how->clear();
  }
}

TEST(JobFlags, ASilentCommandOfAnInferenceIsAServer) {
  JobFlags typed = with_command();
  typed.mode = "infer";
  EXPECT_TRUE(job_of(typed).serves());
  typed.program.preset = "vllm";
  typed.requests.url = "http://127.0.0.1:{port}/";
  EXPECT_TRUE(job_of(typed).serves()) << "an address makes it one";
  typed.program.command.clear();
  EXPECT_TRUE(job_of(typed).serves()) << "one that runs already";
}

TEST(JobFlags, OurModelElsewhereKeepsItsModelAndItsLines) {
  JobFlags typed = with_command();
  typed.external = true;
  typed.engine = kPaddleEngine;
  typed.training.model = "svtr";
  typed.training.label_file = "labels.txt";
  typed.lines = 400;
  const Job job = job_of(typed);
  ASSERT_EQ(job.kind.index(), 3U);
  EXPECT_TRUE(std::get<ExternalJob>(job.kind).in_paddle);
  EXPECT_EQ(job.model(), "svtr");
  EXPECT_EQ(job.label_file(), "labels.txt");
  EXPECT_EQ(job.lines(), 400);
}

TEST(JobFlags, WhatIsReadIsOfTheModelThatIsNamed) {
  JobFlags typed;
  typed.mode = "infer";
  typed.training.model = "reader.onnx";
  typed.training.height = 48;
  typed.training.classes = 6625;
  typed.program.truth = "truth.txt";
  typed.program.max_change = 0.01;
  const Job job = job_of(typed);
  EXPECT_EQ(job.model(), "reader.onnx");
  EXPECT_EQ(job.height(), 48);
  EXPECT_EQ(job.requests().truth, "truth.txt");
  EXPECT_EQ(job.max_change(), 0.01);
  EXPECT_EQ(std::get<ReadingJob>(job.kind).classes, 6625);
}

}  // namespace
}  // namespace ocrtune
