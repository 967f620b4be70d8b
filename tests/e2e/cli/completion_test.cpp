// The completion scripts in real shells, the manual page and the version as the program prints
// them.
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "cli/help.h"
#include "cli/manual.h"

namespace ocrtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string output_of(const std::vector<std::string>& arguments, int* code = nullptr) {
  ProcessOptions options;
  options.arguments = arguments;
  options.output_bytes = 1 << 20;
  auto process = Process::start(options);
  if (!process) return process.error().what;
  const auto& exit = process->wait(60);
  if (code != nullptr) *code = exit ? exit->code : -1;
  return process->output().contents();
}

bool has_program(const std::string& name) {
  return std::system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0;
}

class CompletionInShells : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("completion");
    ASSERT_TRUE(make_directories(folder_ + "/lines").ok());
    ASSERT_TRUE(write_file(folder_ + "/listed.txt", "x").ok());
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_).ok()); }

  // Runs a shell on the script of completion with `tail` behind it.
  std::string in_shell(const std::string& shell, const std::string& tail) {
    const std::string path = folder_ + "/script";
    const std::string script = output_of({OCRTUNE_BINARY, "completion", shell});
    EXPECT_TRUE(write_file(path, script + tail).ok());
    return output_of({"/usr/bin/env", shell, path});
  }

  std::string folder_;
};

TEST_F(CompletionInShells, BashFillsTheReply) {
  const auto reply = [&](const std::string& words) {
    return in_shell("bash", "compopt() { :; }\nCOMP_WORDS=(ocrtune " + words +
                                ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_ocrtune\n"
                                "printf '[%s]' \"${COMPREPLY[@]}\"\n");
  };
  EXPECT_EQ(reply("why"), "[why-not]");
  EXPECT_EQ(reply("tune --constr"), "[--constraint]");
  EXPECT_EQ(reply("--tune --constr"), "[--constraint]") << "a command as an option";
  EXPECT_EQ(reply("tune --preset paddleocr-i"), "[paddleocr-infer]");
  EXPECT_EQ(reply("report --language = z"), "[zh]") << "bash has broken the word at =";
  EXPECT_EQ(reply("list k"), "[knobs]");
  EXPECT_EQ(reply("worker prec"), "[precision=]");
  EXPECT_EQ(reply("tune --data " + folder_ + "/li"),
            "[" + folder_ + "/lines][" + folder_ + "/listed.txt]");
  EXPECT_EQ(reply("tune --out " + folder_ + "/li"), "[" + folder_ + "/lines]");
  EXPECT_EQ(reply("tune --budget 2m -- " + folder_ + "/lis"), "[" + folder_ + "/listed.txt]");
  EXPECT_EQ(reply("eng"), "[engine]");
  EXPECT_EQ(reply("engine tr"), "[train]");
  EXPECT_EQ(reply("engine train --checkp"), "[--checkpoint]");
  EXPECT_EQ(reply("engine worker prec"), "[precision=]");
  EXPECT_EQ(reply("runs com"), "[compare]");
  EXPECT_EQ(reply("runs rm la"), "[last]");
  EXPECT_EQ(reply("tnue --"), "[]");
  EXPECT_EQ(reply("tune --no-such x"), "[]");
}

TEST_F(CompletionInShells, ZshHandsSpecificationsToItsCompleter) {
  if (!has_program("zsh")) GTEST_SKIP() << "no zsh on PATH";
  const auto reply = [&](const std::string& words) {
    return in_shell("zsh",
                    "_arguments() { print -l -- $@; }\n_describe() { print -l -- ${(P)2}; }\n"
                    "words=(ocrtune " +
                        words + ")\nCURRENT=$#words\n_ocrtune\n");
  };
  EXPECT_THAT(reply("''"), HasSubstr("why-not:Say why"));
  EXPECT_THAT(reply("''"), HasSubstr("engine:the built-in"));
  EXPECT_THAT(reply("engine ''"), AllOf(HasSubstr("train:"), Not(HasSubstr("why-not:"))));
  EXPECT_THAT(reply("engine train ''"), HasSubstr("--checkpoint["));
  EXPECT_THAT(reply("runs ''"), HasSubstr("(compare rm last)"));
  EXPECT_THAT(reply("tune ''"), HasSubstr("--constraint[Keep only"));
}

TEST_F(CompletionInShells, FishKnowsOptionsOfACommand) {
  if (!has_program("fish")) GTEST_SKIP() << "no fish on PATH";
  EXPECT_THAT(in_shell("fish", "complete -C 'ocrtune tune --constr'\n"),
              HasSubstr("--constraint\tKeep only"));
  EXPECT_THAT(in_shell("fish", "complete -C 'ocrtune engine tr'\n"), HasSubstr("train\t"));
}

TEST(Manual, IsWhatManExpects) {
  int code = -1;
  EXPECT_EQ(output_of({OCRTUNE_BINARY, "man"}, &code), manual_page());
  EXPECT_EQ(code, 0);
  if (!has_program("mandoc")) GTEST_SKIP() << "no mandoc on PATH";
  const std::string folder = *make_temporary_directory("manual");
  ASSERT_TRUE(write_file(folder + "/ocrtune.1", manual_page()).ok());
  const std::string said =
      output_of({"/usr/bin/env", "mandoc", "-Tlint", "-Wwarning", folder + "/ocrtune.1"}, &code);
  for (const auto& line : split(said, '\n')) {
    // A date would change the page from build to build.
    EXPECT_TRUE(line.empty() || line.find("missing date") != std::string::npos) << line;
  }
  EXPECT_TRUE(remove_tree(folder).ok());
}

TEST(Help, IsReachedInEveryUsualWay) {
  int code = -1;
  const std::string tune = output_of({OCRTUNE_BINARY, "help", "tune"}, &code);
  EXPECT_EQ(code, 0);
  EXPECT_THAT(tune, HasSubstr("Usage: ocrtune tune [OPTIONS] [-- COMMAND...]"));
  EXPECT_EQ(output_of({OCRTUNE_BINARY, "tune", "--help"}), tune);
  EXPECT_EQ(output_of({OCRTUNE_BINARY, "--tune", "-h"}), tune);
  EXPECT_EQ(output_of({OCRTUNE_BINARY, "help"}), program_help(100));
  EXPECT_EQ(output_of({OCRTUNE_BINARY, "--help"}), program_help(100));
  EXPECT_THAT(output_of({OCRTUNE_BINARY}), HasSubstr(program_help(100)));  // and what is here
  EXPECT_EQ(output_of({OCRTUNE_BINARY, "help", "--all"}), program_help(100, true));
  EXPECT_EQ(output_of({OCRTUNE_BINARY, "engine"}), group_help("engine", 100));
}

TEST(Version, NamesLibrariesAndFeatures) {
  int code = -1;
  const std::string said = output_of({OCRTUNE_BINARY, "engine", "--version"}, &code);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(said, version_text());
  // ocrtune itself has all of that but the engine's libraries.
  std::string without = version_text();
  for (const char* part : {"  oneDNN ", "  LMDB "}) {
    const std::size_t begin = without.find(part);
    if (begin != std::string::npos) without.erase(begin, without.find('\n', begin) + 1 - begin);
  }
  EXPECT_EQ(output_of({OCRTUNE_BINARY, "--version"}, &code), without);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(output_of({OCRTUNE_BINARY, "-V"}), without);
  EXPECT_EQ(said.substr(0, 8), "ocrtune ");
  for (const char* part :
       {"oneDNN  ", "hwloc  ", "SQLite  ", "compiler  ", "cuda-worker  ", "gpu-probe  "}) {
    EXPECT_THAT(said, HasSubstr(part));
  }
}

TEST(CommandLine, MistakesAreOneLineWithTheWayOut) {
  const auto mistake = [](std::vector<std::string> words, int want) {
    int code = -1;
    words.insert(words.begin(), OCRTUNE_BINARY);
    const std::string said = output_of(words, &code);
    EXPECT_EQ(code, want) << said;
    return said;
  };
  EXPECT_EQ(mistake({"tune", "--budjet", "5m"}, 2),
            "ocrtune tune: no option --budjet; did you mean --budget? (ocrtune tune --help)\n");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"tnue"}, std::vector<std::string>{"help", "tnue"}}) {
    EXPECT_THAT(mistake(words, 2),
                AllOf(HasSubstr("no command 'tnue'"), HasSubstr("did you mean")));
  }
  EXPECT_EQ(mistake({"--verison"}, 2), "ocrtune: no option --verison (ocrtune --help)\n");
  EXPECT_THAT(mistake({"infer"}, 2), HasSubstr("for example: ocrtune infer lines/"));
}

}  // namespace
}  // namespace ocrtune
