// Reads everything first and writes it then, so that a configuration that is refused leaves the
// folder of an earlier collection as it was. An empty file is removed in place of being written.
#include "extras/consistency/node_collection.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "extras/consistency/consistency.h"

namespace ocrtune {
namespace {

constexpr double kPythonSeconds = 60;
// No import of the packages themselves: importlib.metadata reads what pip has installed.
constexpr const char* kListPackages =
    "import importlib.metadata as m, platform\n"
    "print('python==' + platform.python_version())\n"
    "for d in m.distributions(): print('%s==%s' % (d.metadata['Name'], d.version))\n";

// Only what a rule speaks of: the rest is nobody's business.
std::string environment_lines(const std::map<std::string, std::string>& environment) {
  std::string lines;
  for (const auto& [name, value] : environment) {
    if (std::string_view(rule_for("env." + name).pattern) == "env.*") continue;
    std::string line = value;
    // One variable a line, whatever its value holds.
    std::replace(line.begin(), line.end(), '\n', ' ');
    lines += name + "=" + line + "\n";
  }
  return lines;
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun ..."
std::string driver_line() {
  const auto text = read_file("/proc/driver/nvidia/version", 4096);
  if (!text) return "";
  for (const std::string& word : words(*text)) {
    const bool number = word.find('.') != std::string::npos &&
                        std::all_of(word.begin(), word.end(), [](unsigned char c) {
                          return std::isdigit(c) != 0 || c == '.';
                        });
    if (number) return "nvidia-driver==" + word + "\n";
  }
  return "";
}

std::string package_lines(const std::string& python, std::vector<std::string>& notes) {
  if (python.empty()) return "";
  ProcessOptions options;
  options.arguments = {python, "-c", kListPackages};
  options.output_bytes = 1 << 20;
  auto process = Process::start(options);
  const auto exit = process ? process->wait(kPythonSeconds) : std::nullopt;
  if (exit && exit->clean()) {
    std::set<std::string> lines;  // in one order on all nodes
    for (const std::string& line : split(process->output().contents(), '\n')) {
      if (line.find("==") != std::string::npos) lines.insert(line);
    }
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
  }
  notes.push_back(fmt::format("no package versions: {} {}", python,
                              !process ? process.error().what
                              : exit   ? "ended with " + exit->text()
                                       : std::string("did not answer in a minute")));
  return "";
}

void add_contents(const FlatConfig& config, std::map<std::string, std::string>& contents,
                  std::vector<std::string>& notes) {
  for (const auto& [key, value] : config.values) {
    if (rule_for(key).demand != Demand::same_files || value.empty() || value == "null") continue;
    const auto content = content_of(value, config);
    if (content) {
      contents[value] = content_text(*content);
    } else {
      notes.push_back(
          fmt::format("{}: {} cannot be read, so its content is not compared", key, value));
    }
  }
}

}  // namespace

Result<Collected> collect_node(const NodeCollection& node) {
  Collected collected{join_path(node.directory, node.host), {}};
  std::map<std::string, std::string> files, contents;
  for (const std::string& path : node.configs) {
    const auto config = OCRTUNE_TRY(read_flat_config(path));
    auto text = OCRTUNE_TRY(read_file(path));
    if (!files.emplace(base_name(path), std::move(text)).second) {
      return Error{ErrorKind::usage, path + ": another configuration has the same file name"};
    }
    add_contents(config, contents, collected.notes);
  }
  files[kContentsFile] = "";  // an earlier collection's go
  files["env.txt"] = environment_lines(node.environment);
  files["versions.txt"] = driver_line() + package_lines(node.python, collected.notes);
  for (const auto& [path, text] : contents) files[kContentsFile] += text + " " + path + "\n";
  OCRTUNE_TRY(make_directories(collected.folder));
  for (const auto& [name, text] : files) {
    const std::string path = join_path(collected.folder, name);
    OCRTUNE_TRY(text.empty() ? remove_tree(path) : write_file(path, text));
  }
  return collected;
}

}  // namespace ocrtune
