#include "trial/workloads/command/user_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "trial/workloads/command/command_prepare.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

std::string line_of(const SeenOfProgram& seen) {
  UserCommandOptions options;
  options.command.command = {"ocr", "--jobs={nproc}"};
  options.command.log_reader = "torch";
  options.command.knobs = {"nproc", "threads"};
  Machine machine;
  machine.cpu.usable_cpus.value = 4;
  Knobs knobs;
  knobs.nproc = knobs.threads = 2;
  return launch_text(make_user_command(options)->launch(machine, knobs, seen));
}

TEST(UserCommand, ItsLaunchHoldsTheVariablesThatTheProgramReads) {
  EXPECT_THAT(line_of({{"OpenBLAS"}, {}}),
              HasSubstr("OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 ocr --jobs=2"));
}

TEST(UserCommand, AFolderThatItsLaunchWritesToIsMadeFirst) {
  UserCommandOptions options;
  options.command.command = {"ocr", "scan.pdf", "{trial_dir}/out.pdf"};
  options.command.log_reader = "runs";
  const auto launch = make_user_command(options)->launch({}, {}, {});
  ASSERT_TRUE(launch) << launch.error().what;
  EXPECT_EQ(launch->arguments.back(), launch->scratch + "/out.pdf");
  EXPECT_THAT(launch_text(launch), testing::StartsWith("mkdir -p " + launch->scratch + " && "));
}

TEST(UserCommand, ItsLaunchLeavesAnInertKnobOut) {
  EXPECT_EQ(line_of({{"OpenBLAS"}, {"threads"}}), "ocr --jobs=2");
}

TEST(UserCommand, StepsOfAnUnknownBatchAreNoSamples) {
  CommandWorkload workload;
  workload.present = Knobs();
  workload.present->absent = {"batch"};
  for (const char* reader : {"torch:steps", "progress", "metric:step_time:s/step", "metric:it/s",
                             "json-lines:speed:steps/s", "regex:step (?<step>[0-9]+)"}) {
    workload.log_reader = reader;
    EXPECT_EQ(command_unit(workload), Unit::step_rate) << reader;
  }
  for (const char* reader :
       {"torch", "steps", "metric:speed:img/s", "metric:pages/s", "paddleocr", "runs:8",
        "regex:(?<step>[0-9]+) (?<samples_per_second>[0-9.]+)", "json-lines:speed"}) {
    workload.log_reader = reader;
    EXPECT_EQ(command_unit(workload), Unit::sample_rate) << reader;
  }
  workload.log_reader = "runs";
  EXPECT_EQ(command_unit(workload), Unit::run_rate);
  workload.log_reader.clear();
  workload.metric = "it/s";
  EXPECT_EQ(command_unit(workload), Unit::step_rate);
  workload.present->absent.clear();
  EXPECT_EQ(command_unit(workload), Unit::sample_rate) << "as many as its batch holds";
}

TEST(UserCommand, ABatchThatWeListChangesTheRecipeAsOneOfTheUsers) {
  const auto noted = [](const std::vector<std::string>& knobs,
                        const std::vector<std::string>& fixed) {
    CommandWorkload workload;
    workload.command = {"sh", "train.sh", "{batch}"};
    workload.log_reader = "torch";
    workload.knobs = knobs;
    workload.fixed = fixed;
    const auto prepared = prepare_command(workload, Machine());
    EXPECT_TRUE(prepared) << prepared.error().what;
    return turns_global_batch(*prepared, workload);
  };
  EXPECT_TRUE(noted({"batch"}, {})) << "a list of the user's";
  EXPECT_TRUE(noted({}, {})) << "a list of ours";
  EXPECT_FALSE(noted({}, {"batch"})) << "one value";
}

TEST(UserCommand, WhatIsNoProgramIsRefusedWithTheWayOut) {
  const auto said = [](const std::vector<std::string>& command) {
    CommandWorkload workload;
    workload.command = command;
    const auto prepared = prepare_command(workload, Machine());
    return prepared ? "" : prepared.error().what;
  };
  for (const char* line : {"sh train.sh --batch {batch}", "sh train.sh"}) {
    EXPECT_THAT(said({line}), testing::StartsWith("'" + std::string(line) + "' is one word"));
    EXPECT_THAT(said({line}), testing::HasSubstr("without the quotes"));
  }
  for (const char* word : {"BATCH=3", "BATCH={batch}", "A_KEY=mnopqr"}) {
    const std::string name = std::string(word).substr(0, 5);
    EXPECT_THAT(said({word, "sh", "train.sh"}), testing::HasSubstr("--env " + name)) << word;
    EXPECT_THAT(said({word, "sh"}), testing::Not(testing::HasSubstr("mnopqr"))) << word;
  }
  EXPECT_THAT(said({"no-such-program"}), testing::HasSubstr("is not in PATH"));
  EXPECT_EQ(said({"{trial_dir}/made", "{batch}"}), "") << "known only in a trial";
  EXPECT_EQ(said({"my folder/{batch}.sh"}), "") << "a path may hold a blank";
}

}  // namespace
}  // namespace ocrtune
