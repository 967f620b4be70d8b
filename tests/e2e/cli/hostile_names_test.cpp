// Names and words of others: what a folder, a config or a log holds is shown and written, and is
// never obeyed.
#include <sys/stat.h>

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"
#include "cli/commands.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class HostileNames : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("hostile_names"); }
  void TearDown() override { ASSERT_TRUE(remove_tree(folder_)); }

  int run(const std::vector<std::string>& arguments) {
    ProcessOptions options;
    options.arguments = {OCRTUNE_BINARY};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    options.directory = folder_;
    Process process = std::move(Process::start(options)).value();
    const auto& exit = process.wait(200);
    output_ = process.output().contents();
    return exit && exit->signal == 0 ? exit->code : -1;
  }

  void write(const std::string& name, const std::string& text) const {
    const std::string path = join_path(folder_, name);
    ASSERT_TRUE(make_directories(parent_path(path)));
    ASSERT_TRUE(write_file(path, text));
  }
  std::string path(const std::string& name) const { return join_path(folder_, name); }

  std::string folder_, output_;
};

constexpr const char* kConfig =
    "Train:\n  dataset:\n    data_dir: .\n    label_file_list: [labels.txt]\n"
    "  loader:\n    batch_size_per_card: 8\n";

TEST_F(HostileNames, InitExecutesNothingOfTheFolder) {
  write("tools/train.py", "open('pwned', 'w')\n");
  write("ppocr/__init__.py", "");
  write("configs/rec/mine.yml", kConfig);
  write("configs/rec/zz\nsetup = [\"touch pwned\"]\n#.yml", kConfig);
  for (const char* name : {"paddle", "torch", "sitecustomize"}) {
    write(std::string(name) + "/__init__.py", "open('pwned', 'w')\n");
  }
  for (const char* name : {".venv", "venv", "env"}) {
    const std::string python = std::string(name) + "/bin/python";
    write(python, "#!/bin/sh\ntouch '" + path("pwned") + "'\n");
    ASSERT_EQ(::chmod(path(python).c_str(), 0755), 0);
  }
  EXPECT_EQ(run({"init"}), 0) << output_;
  EXPECT_FALSE(path_exists(path("pwned")));
  EXPECT_THAT(*read_file(path("ocrtune.toml")), Not(HasSubstr("\nsetup")));
  (void)run({"tune", "--dry-run"});  // reads the file; it has no labels to go on with
  EXPECT_FALSE(path_exists(path("pwned")));
}

TEST_F(HostileNames, NoEscapeOfOthersReachesTheTerminal) {
  const std::string red = "\x1b[31mred";
  const std::vector<std::vector<std::string>> commands = {
      {"tune", "--db", "runs.sqlite", "--budget", "3s", "--metric", "speed:lines/s", "--nproc", "1",
       "--threads", "1", "--", "sh", "-c", "printf '\\033[31mred\\n'; exit 3"},
      {"check", red + ".yml", "other.yml"},
      {"check", red},
      {"show", red, "--db", "runs.sqlite"},
      {"run", "--run-dir", "r", "--tries", "1", "--checkpoint", red, "--", red},
      {red},
  };
  write(red + ".yml", kConfig);
  write("other.yml", std::string(kConfig) + "    num_workers: 2\n");
  for (const auto& command : commands) {
    EXPECT_NE(run(command), -1);
    if (command[0] != red && find_command(command[0]) == nullptr) continue;  // of an extra
    EXPECT_THAT(output_, HasSubstr("red")) << command[0];
    EXPECT_THAT(output_, Not(HasSubstr("\x1b"))) << command[0];
  }
}

}  // namespace
}  // namespace ocrtune
