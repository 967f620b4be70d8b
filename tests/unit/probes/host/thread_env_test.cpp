#include "probes/host/thread_env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

ThreadEnvFact only(const Environment& environment, const std::string& name, double usable) {
  Notes notes;
  for (const ThreadEnvFact& fact : read_thread_env(environment, usable, notes)) {
    if (fact.name == name) return fact;
  }
  ADD_FAILURE() << name << " is not reported";
  return {};
}

TEST(ThreadEnv, SaysWhichVariableBinds) {
  EXPECT_TRUE(only({{"OMP_NUM_THREADS", "1"}}, "OMP_NUM_THREADS", 16).limits);
  EXPECT_FALSE(only({{"OMP_NUM_THREADS", "16"}}, "OMP_NUM_THREADS", 16).limits);
  EXPECT_FALSE(only({{"OMP_NUM_THREADS", "1"}}, "OMP_NUM_THREADS", 0).limits);    // unknown
  EXPECT_FALSE(only({{"OMP_NUM_THREADS", "1"}}, "OMP_NUM_THREADS", 1.5).limits);  // a quota of 1.5
  EXPECT_TRUE(only({{"OMP_NUM_THREADS", "4,2"}}, "OMP_NUM_THREADS", 16).limits);
  EXPECT_THAT(only({{"OMP_NUM_THREADS", "4,2"}}, "OMP_NUM_THREADS", 16).effect,
              HasSubstr("4 threads"));
}

TEST(ThreadEnv, SaysWhichVariableWins) {
  const Environment both = {{"GOTO_NUM_THREADS", "2"}, {"OPENBLAS_NUM_THREADS", "3"}};
  EXPECT_FALSE(only(both, "GOTO_NUM_THREADS", 8).limits);
  EXPECT_THAT(only(both, "GOTO_NUM_THREADS", 8).effect, HasSubstr("OPENBLAS_NUM_THREADS wins"));
  EXPECT_TRUE(only(both, "OPENBLAS_NUM_THREADS", 8).limits);
  const Environment capped = {{"OMP_NUM_THREADS", "8"}, {"OMP_THREAD_LIMIT", "2"}};
  EXPECT_THAT(only(capped, "OMP_NUM_THREADS", 8).effect,
              HasSubstr("OMP_THREAD_LIMIT wins: really 2 threads"));
  EXPECT_TRUE(only(capped, "OMP_THREAD_LIMIT", 8).limits);
}

TEST(ThreadEnv, PlacementThatPutsAllRanksTogetherBinds) {
  EXPECT_TRUE(only({{"OMP_PROC_BIND", "true"}}, "OMP_PROC_BIND", 8).limits);
  EXPECT_FALSE(only({{"OMP_PROC_BIND", "FALSE"}}, "OMP_PROC_BIND", 8).limits);
  EXPECT_TRUE(only({{"GOMP_CPU_AFFINITY", "0"}}, "GOMP_CPU_AFFINITY", 8).limits);
}

TEST(ThreadEnv, GarbageIsNamedAndDoesNotBind) {
  for (const char* value : {"", "abc", "-3", "0", "1e9999"}) {
    const ThreadEnvFact fact = only({{"OMP_NUM_THREADS", value}}, "OMP_NUM_THREADS", 8);
    EXPECT_FALSE(fact.limits) << value;
    EXPECT_THAT(fact.effect, HasSubstr("not a thread count")) << value;
  }
}

TEST(ThreadEnv, WarnsOfMoreThreadsThanCpus) {
  Notes notes;
  static_cast<void>(read_thread_env({{"OMP_NUM_THREADS", "8"}}, 4, notes));
  EXPECT_THAT(notes.warnings, testing::ElementsAre(HasSubstr("OMP_NUM_THREADS=8")));
  notes.warnings.clear();
  static_cast<void>(read_thread_env({{"OMP_NUM_THREADS", "4"}}, 3.5, notes));
  EXPECT_THAT(notes.warnings, testing::IsEmpty());
}

TEST(ThreadEnv, OnlyWhatIsSetIsReported) {
  Notes notes;
  EXPECT_TRUE(read_thread_env({{"HOME", "/root"}}, 4, notes).empty());
  const auto facts = read_thread_env({{"FLAGS_selected_gpus", "0"}}, 4, notes);
  ASSERT_EQ(facts.size(), 1U);
  EXPECT_EQ(facts[0].name, "FLAGS_selected_gpus");
}

}  // namespace
}  // namespace ocrtune
