// What a step of Slurm is warned of that may use fewer CPUs than its task was to have.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "probes/host/cpu_limits.h"

namespace ocrtune {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> warnings(const Environment& environment, const CpuSet& online) {
  Notes notes;
  const FileRoot nothing("/nonexistent");
  (void)read_cpu_limits(nothing, environment, online, notes);
  return notes.warnings;
}

TEST(SlurmStep, OneCoreOfTwentyIsWarnedOf) {
  const Environment step = {{"SLURM_JOB_ID", "77"},
                            {"SLURM_STEP_ID", "0"},
                            {"SLURM_PROCID", "3"},
                            {"SLURM_CPUS_PER_TASK", "20"},
                            {"SLURM_CPUS_ON_NODE", "40"}};
  EXPECT_THAT(
      warnings(step, CpuSet({4})),
      Contains(HasSubstr("CPUs 4 of the 20 that a task was to have (job 77, step 0, task 3)")));
}

TEST(SlurmStep, ATaskWithItsShareIsNot) {
  const auto none = Not(Contains(HasSubstr("--cpus-per-task")));
  const CpuSet four = CpuSet::range(0, 3);
  EXPECT_THAT(warnings({{"SLURM_JOB_ID", "7"}, {"SLURM_CPUS_PER_TASK", "4"}}, four), none);
  EXPECT_THAT(warnings({{"SLURM_JOB_ID", "7"},
                        {"SLURM_CPUS_ON_NODE", "16"},
                        {"SLURM_NTASKS", "4"},
                        {"SLURM_NTASKS_PER_NODE", "4"}},
                       four),
              none);
  EXPECT_THAT(warnings({{"SLURM_JOB_ID", "7"}, {"SLURM_CPUS_ON_NODE", "4"}}, four), none);
  EXPECT_THAT(warnings({{"SLURM_CPUS_PER_TASK", "20"}}, four), none);  // of no job
}

}  // namespace
}  // namespace ocrtune
