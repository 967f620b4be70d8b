// Frameworks are asked for their version and a batch of zeros, each in a process of its own.
#include "trial/workloads/engine_infer/framework_answer.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/environment.h"
#include "base/files.h"
#include "base/process.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr double kAskSeconds = 120;  // of an import from a slow disk, and of a compilation

std::string missing_words(const FrameworkRow& row) {
  return fmt::format("{} cannot import it; pip install {}, or activate the environment that has it",
                     framework_python(), row.package);
}

FrameworkAnswer answer_of(const FrameworkRow& row, Process& process, double seconds) {
  FrameworkAnswer answer;
  answer.framework = &row;
  const auto exit = process.wait(seconds);
  // Frameworks print on their own account, so our line carries a mark.
  constexpr std::string_view kMark = "ocrtune: ";
  for (const std::string& line : split(process.output().contents(), '\n')) {
    if (!starts_with(line, kMark)) continue;
    const auto json = nlohmann::json::parse(line.substr(kMark.size()), nullptr, false);
    if (!json.is_object()) continue;
    answer.version = json.value("version", "");
    answer.classes = json.value("classes", 0);
    answer.refusal = json.value("error", "");
    answer.missing = !json.value("missing", "").empty();
    if (answer.missing) answer.refusal = missing_words(row);
    return answer;
  }
  answer.refusal = exit ? "it ended: " + exit->text()
                        : "it did not read a batch within " + format_duration(seconds);
  return answer;
}

}  // namespace

Result<std::vector<std::string>> framework_command(const std::string& backend,
                                                   const std::string& model) {
  const std::string here = parent_path(own_program());
  // Installed in bin/ beside share/; in a build folder share/ lies beside the program itself.
  std::string folder = join_path(parent_path(here), "share/ocrtune/frameworks");
  if (!path_exists(folder)) folder = join_path(here, "share/ocrtune/frameworks");
  const std::string script = join_path(folder, "framework_engine.py");
  if (!path_exists(script)) {
    return Error{ErrorKind::missing,
                 backend + " needs " + script + ": install ocrtune with its share/ folder"};
  }
  return std::vector<std::string>{framework_python(), script, backend, model};
}

std::string framework_python() {
  const std::string active = environment_value(process_environment(), "VIRTUAL_ENV");
  return active.empty() ? "python3" : join_path(active, "bin/python");
}

std::vector<FrameworkAnswer> ask_frameworks(const std::vector<const FrameworkRow*>& frameworks,
                                            const std::string& model, int height, int width) {
  // All are started before the first is waited for.
  std::vector<Result<Process>> processes;
  for (const FrameworkRow* row : frameworks) {
    ProcessOptions options;
    auto command = framework_command(row->backend, model);
    if (!command) {
      processes.emplace_back(command.error());
      continue;
    }
    options.arguments = *std::move(command);
    options.arguments.insert(options.arguments.end(),
                             {"--check", fmt::format("{}x{}", height, width)});
    processes.push_back(Process::start(options));
  }
  std::vector<FrameworkAnswer> answers;
  for (std::size_t i = 0; i < frameworks.size(); ++i) {
    if (processes[i]) {
      answers.push_back(answer_of(*frameworks[i], *processes[i], kAskSeconds));
    } else {
      answers.emplace_back();
      answers.back().framework = frameworks[i];
      answers.back().refusal = processes[i].error().what;
    }
  }
  return answers;
}

}  // namespace ocrtune
