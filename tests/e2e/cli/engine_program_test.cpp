// ocrtune and ocrtune-engine: who starts whom, and what is said where the engine is not installed.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "tests/support/ran.h"

namespace ocrtune {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A folder with ocrtune alone, as its first wheel installs it.
class EngineProgram : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("engine");
    fs::create_directory(folder_ + "/bin");
    fs::copy_file(OCRTUNE_BINARY, folder_ + "/bin/ocrtune");
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_).ok()); }

  Ran run(const std::string& words) const {
    return run_line("cd " + folder_ + " && PATH=/usr/bin:/bin LC_ALL=C XDG_DATA_HOME=" + folder_ +
                    " bin/ocrtune " + words + " 2>&1");
  }

  std::string folder_;
};

TEST_F(EngineProgram, IsNamedInOneLineWhereItIsNotInstalled) {
  for (const char* words : {"train lines", "engine make-data lines", "infer-worker --spec {}",
                            "tune", "tune --mode infer --data .", "doctor", "engine --version"}) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 3) << words << ": " << ran.out;
    EXPECT_THAT(ran.out, HasSubstr("pip install ocrtune-engine")) << words;
    EXPECT_EQ(split(ran.out, '\n').size(), 2U) << words << ": " << ran.out;
  }
}

TEST_F(EngineProgram, IsNotNeededByTheOtherCommands) {
  for (const char* words : {"--version", "help --all", "list models", "list backends", "man",
                            "completion bash", "tune --dry-run --log-reader runs -- true"}) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 0) << words << ": " << ran.out;
  }
}

TEST_F(EngineProgram, IsTakenFromLibexecToo) {
  fs::create_directories(folder_ + "/libexec/ocrtune");
  fs::create_symlink(fs::path(OCRTUNE_BINARY).parent_path() / "ocrtune-engine",
                     folder_ + "/libexec/ocrtune/ocrtune-engine");
  const Ran ran = run("engine make-data drawn --count 3");
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_TRUE(path_exists(folder_ + "/drawn/labels.txt"));
  EXPECT_EQ(run("engine --version").code, 0);
}

// The store has the words as they were typed, whichever program ran them.
TEST_F(EngineProgram, TakesTheSameWords) {
  fs::create_symlink(fs::path(OCRTUNE_BINARY).parent_path() / "ocrtune-engine",
                     folder_ + "/bin/ocrtune-engine");
  const Ran ran =
      run("tune --nproc 1 --threads 1 --batch 2 --budget 4s --trial-time 0.5s --no-wait --json");
  EXPECT_LE(ran.code, 1) << ran.out;
  EXPECT_GE(ran.code, 0) << ran.out;
  EXPECT_THAT(run("runs --json").out, HasSubstr("ocrtune tune --nproc 1 --threads 1 --batch 2"));
  const Ran shown = run("show");
  EXPECT_LE(shown.code, 1) << shown.out;
  EXPECT_THAT(shown.out, HasSubstr("verdict"));
  // Without it the run can be listed, and its verdict asks for the engine.
  fs::remove(folder_ + "/bin/ocrtune-engine");
  EXPECT_EQ(run("runs").code, 0);
  EXPECT_THAT(run("show").out, HasSubstr("pip install ocrtune-engine"));
}

}  // namespace
}  // namespace ocrtune
