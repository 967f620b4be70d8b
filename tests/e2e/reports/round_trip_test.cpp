// What is written for others comes back as it was: random words, made of what each format finds
// special, through its own reader.
#include <array>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "reports/export/deployment.h"

namespace ocrtune {
namespace {

// Each is one thing to some reader: quotes, comments, variables, escapes, line ends of Unicode.
constexpr std::array kPieces = {"a",
                                "Z",
                                "7",
                                " ",
                                "  ",
                                "'",
                                "\"",
                                "\\",
                                "$",
                                "$$",
                                "${a}",
                                "$(b)",
                                "`c`",
                                "%",
                                "%h",
                                "#",
                                " #x",
                                ":",
                                ": ",
                                "- ",
                                "{",
                                "}",
                                "[",
                                "]",
                                "&a",
                                "*a",
                                "!t",
                                "|",
                                ">",
                                "@",
                                ",",
                                "?",
                                "~",
                                "=",
                                "<",
                                ";",
                                "\n",
                                "\t",
                                "\r",
                                "\x7f",
                                "\xc2\x85",
                                "\xe2\x80\xa8",
                                "\xef\xbb\xbf",
                                "\xe5\xad\x97",
                                "null",
                                "no",
                                "0x1f",
                                "1e3",
                                "\x1b[",
                                "--",
                                "\xf0\x9f\x98\x80",
                                "''",
                                "\\n",
                                "\\x41"};

class Words {
 public:
  explicit Words(unsigned seed) : dice_(seed) {}
  std::string word() {
    std::string made;
    for (std::size_t left = 1 + dice_() % 8; left > 0; --left)
      made += kPieces[dice_() % kPieces.size()];
    return made;
  }
  Deployment deployment() {
    Deployment made;
    made.run_id = "2026-11-26-00000";
    made.launch.arguments = {"/bin/train"};
    for (int i = 0; i < 20; ++i) made.launch.arguments.push_back(word());
    for (int i = 0; i < 20; ++i) made.launch.environment.push_back({fmt::format("V{}", i), word()});
    made.launch.directory = "/data/" + word();
    return made;
  }

 private:
  std::mt19937 dice_;
};

std::string undoubled(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    out += text[at];
    if (text[at] == '$' && at + 1 < text.size() && text[at + 1] == '$') ++at;
  }
  return out;
}

TEST(RoundTrip, YamlGivesBackEveryWord) {
  Words words(7);
  for (int round = 0; round < 40; ++round) {
    const Deployment made = words.deployment();
    const YAML::Node compose = YAML::Load(find_export_format("compose")->write(made));
    const YAML::Node service = compose["services"]["ocr"];
    const YAML::Node pod = YAML::LoadAll(
        find_export_format("k8s")->write(made))[0]["spec"]["template"]["spec"]["containers"][0];
    ASSERT_EQ(service["command"].size(), made.launch.arguments.size());
    ASSERT_EQ(pod["command"].size(), made.launch.arguments.size());
    for (std::size_t i = 0; i < made.launch.arguments.size(); ++i) {
      const std::string& wanted = made.launch.arguments[i];
      EXPECT_EQ(undoubled(service["command"][i].as<std::string>()), wanted);
      EXPECT_EQ(undoubled(pod["command"][i].as<std::string>()), wanted);
    }
    for (std::size_t i = 0; i < made.launch.environment.size(); ++i) {
      const auto& [name, value] = made.launch.environment[i];
      EXPECT_EQ(undoubled(service["environment"][name].as<std::string>()), value);
      EXPECT_EQ(pod["env"][i]["name"].as<std::string>(), name);
      EXPECT_EQ(undoubled(pod["env"][i]["value"].as<std::string>()), value);
    }
    EXPECT_EQ(undoubled(service["working_dir"].as<std::string>()), made.launch.directory);
    EXPECT_EQ(pod["workingDir"].as<std::string>(), made.launch.directory);
  }
}

// The words of a line by the rules of systemd.syntax(7); `variables`: "$" begins one.
std::vector<std::string> systemd_words(const std::string& line, bool variables) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] != '"') continue;
    std::string word;
    for (++at; at < line.size() && line[at] != '"'; ++at) {
      if (line[at] == '\\' && at + 1 < line.size()) {
        ++at;
        if (line[at] == 'x') {
          word += static_cast<char>(std::stoi(line.substr(at + 1, 2), nullptr, 16));
          at += 2;
        } else {
          word += line[at];
        }
      } else {
        const bool special = line[at] == '%' || (variables && line[at] == '$' && !words.empty());
        word += line[at];
        if (special) {
          EXPECT_EQ(line.substr(at, 2), std::string(2, line[at])) << line;
          ++at;
        }
      }
    }
    words.push_back(word);
  }
  return words;
}

TEST(RoundTrip, SystemdGivesBackEveryWord) {
  Words words(8);
  for (int round = 0; round < 40; ++round) {
    const Deployment made = words.deployment();
    std::size_t variables = 0;
    for (const std::string& line : split(find_export_format("systemd")->write(made), '\n')) {
      if (starts_with(line, "ExecStart=")) {
        EXPECT_EQ(systemd_words(line, true), made.launch.arguments);
      } else if (starts_with(line, "Environment=")) {
        ASSERT_LT(variables, made.launch.environment.size());
        const auto& [name, value] = made.launch.environment[variables++];
        EXPECT_EQ(systemd_words(line, false), std::vector<std::string>{name + "=" + value});
      }
    }
    EXPECT_EQ(variables, made.launch.environment.size());
  }
}

// By a real shell: the words of the command and the values of the variables.
TEST(RoundTrip, AShellGivesBackEveryWord) {
  const std::string folder = *make_temporary_directory("round_trip");
  Words words(9);
  std::string script, wanted;
  for (int round = 0; round < 40; ++round) {
    const Deployment made = words.deployment();
    const std::string file = join_path(folder, fmt::format("{}.env", round));
    ASSERT_TRUE(write_file(file, find_export_format("env")->write(made)));
    script += "(. " + file + "\n";
    for (const auto& [name, value] : made.launch.environment) {
      script += fmt::format("printf '%s\\0' \"${}\"\n", name);
      wanted += value + '\0';
    }
    script += "printf '%s\\0' " + shell_join(made.launch.arguments) + ")\n";
    for (const std::string& word : made.launch.arguments) wanted += word + '\0';
  }
  ASSERT_TRUE(write_file(join_path(folder, "script"), script));
  ProcessOptions options;
  options.arguments = {"bash", join_path(folder, "script")};
  options.output_bytes = 4 << 20;
  auto shell = Process::start(options);
  ASSERT_TRUE(shell);
  ASSERT_TRUE(shell->wait(60));
  EXPECT_EQ(shell->output().contents(), wanted);
  EXPECT_TRUE(remove_tree(folder));
}

}  // namespace
}  // namespace ocrtune
