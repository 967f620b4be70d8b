#include "trial/stages/tree_counters.h"

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A saved /proc whose processes run on.
class LauncherVariables : public testing::Test {
 protected:
  void SetUp() override {
    auto made = make_temporary_directory("proc");
    ASSERT_TRUE(made);
    folder_ = *std::move(made);
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }

  // That it has run for so many ticks of its CPU time, and the environment that it began with.
  void process(int pid, int ticks, const std::string& environment) {
    const std::string at = folder_ + fmt::format("/proc/{}", pid);
    ASSERT_TRUE(make_directories(at));
    ASSERT_TRUE(
        write_file(at + "/stat",
                   fmt::format("{} (reader) S 1 1 1 0 -1 4194304 9 0 0 0 {} 0 0 0 20 0 1 0 100 "
                               "1 1 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n",
                               pid, ticks)));
    ASSERT_TRUE(write_file(at + "/environ", environment));
  }

  std::vector<std::string> found(const std::vector<int>& pids) {
    std::vector<ProcessFacts> members;
    for (const int pid : pids) {
      members.emplace_back().pid = pid;
      members.back().name = name_;
    }
    counters_->look(++now_, members);
    StageUse use;
    counters_->fill(use);
    std::vector<std::string> texts;
    for (const LauncherVariable& one : use.launcher_set) texts.push_back(one.text());
    return texts;
  }

  void given(Environment environment) {
    counters_.emplace(FileRoot(folder_), std::move(environment));
  }

  std::string folder_, name_ = "reader";
  std::optional<TreeCounters> counters_;
  double now_ = 0;
};

std::string block(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\0';
  return text;
}

// As Ray's runtime_env does it: the driver keeps what it was given, its workers get their own.
TEST_F(LauncherVariables, AreTheOnesOfTheWorkersThatCompute) {
  given({{"OMP_NUM_THREADS", "4"}, {"MKL_NUM_THREADS", "4"}, {"PATH", "/bin"}});
  const std::string driver = block({"OMP_NUM_THREADS=4", "MKL_NUM_THREADS=4", "PATH=/bin"});
  const std::string worker = block({"OMP_NUM_THREADS=1", "MKL_NUM_THREADS=4", "PATH=/opt/bin"});
  process(10, 0, driver);
  process(11, 0, worker);
  process(12, 0, worker);
  EXPECT_THAT(found({10, 11, 12}), IsEmpty()) << "nothing has run";
  process(10, 90, driver);
  process(11, 200, worker);
  process(12, 100, worker);
  EXPECT_THAT(found({10, 11, 12}), ElementsAre("OMP_NUM_THREADS=1"));
  process(10, 900, driver);
  EXPECT_THAT(found({10, 11, 12}), IsEmpty()) << "the driver computes";
}

// A shell that becomes the program which it starts.
TEST_F(LauncherVariables, AreReadAgainAfterAnExec) {
  given({{"OMP_NUM_THREADS", "2"}});
  process(10, 1, block({"OMP_NUM_THREADS=2"}));
  EXPECT_THAT(found({10}), IsEmpty());
  process(10, 50, block({"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "OMP_THREAD_LIMIT=1"}));
  EXPECT_THAT(found({10}),
              ElementsAre("OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "OMP_THREAD_LIMIT=1"));
}

// Ray sets it in its workers when they run, where nobody has: their environment does not show it.
TEST_F(LauncherVariables, AreKnownWhereTheWorkerSetsThemItself) {
  const std::string bare = block({"PATH=/bin"});
  const auto of_worker = [&](const std::string& name, const std::string& environment, int ticks) {
    given({{"PATH", "/bin"}});
    name_ = name;
    process(10, 0, environment);
    (void)found({10});
    process(10, ticks, environment);
    return found({10});
  };
  EXPECT_THAT(of_worker("ray::Reader.ste", bare, 100), ElementsAre("OMP_NUM_THREADS=1"));
  EXPECT_THAT(of_worker("ray::Reader.ste", bare, 380), IsEmpty()) << "it was given four CPUs";
  EXPECT_THAT(of_worker("python", bare, 100), IsEmpty());
  EXPECT_THAT(of_worker("ray::Reader.ste", block({"OMP_NUM_THREADS=3"}), 100),
              ElementsAre("OMP_NUM_THREADS=3"));
}

TEST_F(LauncherVariables, NobodyAsksWithoutWhatWasGiven) {
  given({});
  process(10, 0, block({"OMP_NUM_THREADS=1"}));
  (void)found({10});
  process(10, 50, block({"OMP_NUM_THREADS=1"}));
  EXPECT_THAT(found({10}), IsEmpty());
}

}  // namespace
}  // namespace ocrtune
