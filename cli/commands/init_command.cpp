// ocrtune init: look around, and write the settings file that tune and doctor run.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/settings_file.h"
#include "cli/shell/terminal.h"
#include "probes/placement/partition.h"
#include "probes/probe.h"
#include "reports/catalogue/plain_text.h"
#include "tuner/project/project.h"

namespace ocrtune {
namespace {

struct InitFlags {
  std::string folder = ".";
  bool force = false;
};

std::string machine_text(const Machine& machine) {
  std::vector<std::string> parts = {
      terminal_text("{} {0:CPU|CPUs}", {std::to_string(usable_cpu_count(machine.cpu))})};
  const auto limit = machine.memory.limit_bytes;
  if (limit.known()) {
    parts.push_back(
        terminal_text("{} of memory ({})",
                      {format_bytes(static_cast<std::uint64_t>(*limit.value)), limit.source}));
  }
  if (machine.memory.shm_bytes.known()) {
    parts.push_back("/dev/shm " + format_bytes(*machine.memory.shm_bytes.value));
  }
  parts.push_back(terminal_text(machine.gpus.empty() ? "no GPU" : machine.gpu_state));
  if (const std::string container = machine.container.value_or("none"); container != "none") {
    parts.push_back(terminal_text("in {}", {container}));
  }
  return terminal_text("machine: {}", {join(parts, terminal_text(", "))});
}

void print_lines(const std::vector<std::string>& lines) { std::puts(join(lines, "\n").c_str()); }

// Where the user has nothing that could be tuned: what would be.
Result<int> say_nothing_here(const Project& project) {
  print_lines(
      {terminal_text("Nothing to tune in {}: no tools/train.py of PaddleOCR or OpenOCR, no script "
                     "that trains or reads pages, no labels.txt or data.mdb.",
                     {plain_line(project.folder)}),
       terminal_text("Go on with one of these:"),
       terminal_text("  ocrtune init PaddleOCR/                     # where your checkout is"),
       terminal_text("  ocrtune engine make-data lines && ocrtune init  # rendered lines, to try "
                     "the built-in engine"),
       terminal_text("  ocrtune tune -- CMD --batch {batch}         # any command; its speed is "
                     "found in its lines")});
  return kExitNegative;
}

Result<int> init(const InitFlags& flags) {
  const std::string path =
      flags.folder == "." ? kSettingsFile : join_path(flags.folder, kSettingsFile);
  // A link that leads nowhere is not written through either.
  std::error_code unreadable;
  const bool link = std::filesystem::is_symlink(path, unreadable);
  if (link && !path_exists(path)) {
    return Error{ErrorKind::usage,
                 path + " is a link to a file that is not there; remove it first"};
  }
  if (path_exists(path) && !flags.force) {
    return Error{ErrorKind::usage, path + " is there already; --force writes it anew"};
  }
  // Unlike the first look (cli/here.cpp) this one asks the interpreter what is installed.
  const auto project = OCRTUNE_TRY(look_around(flags.folder, process_environment(), ask_python));
  if (project.kind == Project::Kind::nothing) return say_nothing_here(project);
  ProbeOptions quick;
  quick.quick = true;
  const auto machine = OCRTUNE_TRY(probe_machine(quick));
  OCRTUNE_TRY(write_file(path, settings_text(project, machine)));
  std::vector<std::string> lines = {terminal_text("Found:")};
  const auto add = [&](const std::string& line) {
    lines.push_back("  " + plain_line(terminal_text(line)));
  };
  for (const std::string& line : project.found) add(line);
  lines.push_back("  " + machine_text(machine));
  if (!project.missing.empty()) lines.push_back(terminal_text("Missing:"));
  for (const std::string& line : project.missing) add(line);
  const std::string there = flags.folder == "." ? "" : "cd " + shell_quote(flags.folder) + " && ";
  lines.push_back(terminal_text("Wrote {}. Next: {}ocrtune doctor", {path, there}));
  print_lines(lines);
  return kExitOk;
}

}  // namespace

CommandRun declare_init(Flags& cli) {
  auto flags = std::make_shared<InitFlags>();
  cli.argument("folder", flags->folder, "Checkout of an OCR trainer, or folder of labelled lines")
      .folder();
  cli.toggle("--force", flags->force, "Write over an ocrtune.toml that is there");
  return [flags] { return init(*flags); };
}

}  // namespace ocrtune
