#include "trial/workloads/command/rank_starter.h"

#include <algorithm>
#include <array>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"

namespace ocrtune {
namespace {

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

struct Launcher {
  std::size_t at = 0;  // of its name in the command
  bool torch = false;
  std::string python;
};

// The interpreter that the first line of a script names.
std::string interpreter_of(const std::string& script) {
  const auto path = find_executable(script);
  if (!path) return "";
  const std::string text = read_file(*path, 512).value_or("");
  if (!starts_with(text, "#!")) return "";
  const std::vector<std::string> line = words(text.substr(2, text.find('\n') - 2));
  if (line.empty()) return "";
  return base_name(line[0]) == "env" && line.size() > 1 ? line[1] : line[0];
}

std::optional<Launcher> find_launcher(const std::vector<std::string>& command) {
  static constexpr std::array<const char*, 3> kModules = {
      "paddle.distributed.launch", "torch.distributed.run", "torch.distributed.launch"};
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (base_name(command[i]) == "torchrun") {
      return Launcher{i, true, interpreter_of(command[i])};
    }
    if (i == 0 || command[i - 1] != "-m") continue;
    if (std::find(kModules.begin(), kModules.end(), command[i]) == kModules.end()) continue;
    for (std::size_t before = i - 1; before-- > 0;) {
      if (starts_with(base_name(command[before]), "python")) {
        return Launcher{i, starts_with(command[i], "torch"), command[before]};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<std::string>> with_rank_starter(const std::vector<std::string>& command,
                                                          const std::string& starter) {
  const auto launcher = find_launcher(command);
  if (!launcher || launcher->python.empty()) return std::nullopt;
  auto script = command.begin() + static_cast<std::ptrdiff_t>(launcher->at) + 1;
  while (script != command.end() && (starts_with(*script, "-") || !ends_with(*script, ".py"))) {
    if (*script == "-m" || *script == "--module" || *script == "--no_python" ||
        *script == "--no-python") {
      return std::nullopt;
    }
    ++script;
  }
  if (script == command.end()) return std::nullopt;
  std::vector<std::string> started(command.begin(), script);
  if (launcher->torch) started.emplace_back("--no_python");
  started.insert(started.end(), {starter, "rank-exec", "--", launcher->python, "-u"});
  started.insert(started.end(), script, command.end());
  return started;
}

}  // namespace ocrtune
