#include "trial/workloads/command/user_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(UserCommand, ItsLaunchLeavesAnInertKnobOut) {
  EXPECT_EQ(line_of({{"OpenBLAS"}, {"threads"}}), "ocr --jobs=2");
}

}  // namespace
}  // namespace ocrtune
