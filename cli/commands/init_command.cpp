// ocrtune init: look around, and write the settings file that tune and doctor run.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/files.h"
#include "base/plural.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/settings_file.h"
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
  std::string text = "machine: " + how_many(usable_cpu_count(machine.cpu), "CPU");
  const auto limit = machine.memory.limit_bytes;
  if (limit.known()) {
    text += fmt::format(", {} of memory ({})",
                        format_bytes(static_cast<std::uint64_t>(*limit.value)), limit.source);
  }
  if (machine.memory.shm_bytes.known()) {
    text += fmt::format(", /dev/shm {}", format_bytes(*machine.memory.shm_bytes.value));
  }
  text += ", " + (machine.gpus.empty() ? std::string("no GPU") : machine.gpu_state);
  if (const std::string container = machine.container.value_or("none"); container != "none") {
    text += ", in " + container;
  }
  return text;
}

// Where the user has nothing that could be tuned: what would be.
Result<int> say_nothing_here(const Project& project) {
  std::printf(
      "Nothing to tune in %s: no tools/train.py of PaddleOCR or OpenOCR, no script that trains or "
      "reads pages, no labels.txt or data.mdb.\n"
      "Go on with one of these:\n"
      "  ocrtune init PaddleOCR/                     # where your checkout is\n"
      "  ocrtune engine make-data lines && ocrtune init  # rendered lines, to try the built-in "
      "engine\n"
      "  ocrtune tune -- CMD --batch {batch}         # any command; its speed is found in its "
      "lines\n",
      project.folder.c_str());
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
  const auto project = OCRTUNE_TRY(look_around(flags.folder, process_environment(), ask_python));
  if (project.kind == Project::Kind::nothing) return say_nothing_here(project);
  ProbeOptions quick;
  quick.quick = true;
  const auto machine = OCRTUNE_TRY(probe_machine(quick));
  OCRTUNE_TRY(write_file(path, settings_text(project, machine)));
  std::string text = "Found:\n";
  for (const std::string& line : project.found) text += "  " + plain_line(line) + "\n";
  text += "  " + machine_text(machine) + "\n";
  if (!project.missing.empty()) text += "Missing:\n";
  for (const std::string& line : project.missing) text += "  " + plain_line(line) + "\n";
  const std::string there = flags.folder == "." ? "" : "cd " + shell_quote(flags.folder) + " && ";
  text += fmt::format("Wrote {}. Next: {}ocrtune doctor\n", path, there);
  std::fputs(text.c_str(), stdout);
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
