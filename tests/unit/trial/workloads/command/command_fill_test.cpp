#include "trial/workloads/command/command_fill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

Variables environment_of(const CommandWorkload& workload, int threads) {
  Knobs knobs;
  knobs.threads = threads;
  const auto filled = fill_for(workload, Machine(), knobs, {"/trial", 1});
  return filled ? filled->launch.environment : Variables();
}

CommandWorkload turning_threads() {
  CommandWorkload workload;
  workload.command = {"ocr"};
  workload.knobs = {"threads"};
  return workload;
}

TEST(CommandFill, ThreadsReachEveryRuntime) {
  const Variables environment = environment_of(turning_threads(), 3);
  for (const char* name :
       {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS",
        "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS", "GOMAXPROCS", "OPENCV_FOR_THREADS_NUM"}) {
    EXPECT_THAT(environment, Contains(Pair(name, "3")));
  }
  EXPECT_THAT(environment, Not(Contains(Key("OMP_THREAD_LIMIT"))))
      << "OpenBLAS built on OpenMP hangs below omp_set_num_threads()";
}

TEST(CommandFill, TheUsersOwnVariablesStay) {
  CommandWorkload workload = turning_threads();
  workload.environment = {{"MKL_NUM_THREADS", "1"}};
  workload.inherited = {"GOMAXPROCS"};
  workload.unread = {"RAYON_NUM_THREADS"};
  const Variables environment = environment_of(workload, 3);
  EXPECT_THAT(environment, Contains(Pair("MKL_NUM_THREADS", "1")));
  EXPECT_THAT(environment, Not(Contains(Key("GOMAXPROCS"))));
  EXPECT_THAT(environment, Not(Contains(Key("RAYON_NUM_THREADS"))));
  EXPECT_THAT(environment, Contains(Pair("OPENBLAS_NUM_THREADS", "3")));
}

TEST(CommandFill, ThreadsThatAreNotTurnedAreLeftAlone) {
  CommandWorkload workload = turning_threads();
  workload.knobs.clear();
  EXPECT_THAT(environment_of(workload, 3), IsEmpty());
}

}  // namespace
}  // namespace ocrtune
