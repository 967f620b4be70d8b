// Built-in presets come first, then files; a file of a built-in's name is never reached. Without
// --preset the files are searched for one that fits the command, and only its variables are used.
#include "trial/workloads/command/command_preset.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "trial/workloads/command/paddleocr_infer_preset.h"
#include "trial/workloads/command/paddleocr_preset.h"
#include "trial/workloads/command/preset_apply.h"

namespace ocrtune {
namespace {

struct BuiltIn {
  const char* name;
  const char* help;
  const char* tried;
  bool trains;
  Status (*apply)(PreparedCommand& command, const Machine& machine, const KnobChoice& choose);
};

const std::vector<BuiltIn>& built_in_table() {
  static const std::vector<BuiltIn> kTable = {
      {"paddleocr", "PaddleOCR's tools/train.py: sets the -o keys that a short trial needs",
       "PaddleOCR 3.0.0, paddlepaddle 3.2.2 (2026-11-25)", true, apply_paddleocr_preset},
      {"paddleocr-infer",
       "PaddleOCR's tools/infer/predict_system.py: one process for each GPU, or use_mp on CPUs",
       "paddlepaddle 3.2.2 (2026-11-22)", false, apply_paddleocr_infer_preset},
  };
  return kTable;
}

std::string tried_text(const PresetFile& preset) {
  std::vector<std::string> texts;
  for (const auto& [version, date] : preset.tried) texts.push_back(version + " (" + date + ")");
  return texts.empty() ? "not tried" : join(texts, ", ");
}

}  // namespace

Result<std::vector<PresetRow>> preset_table() {
  std::vector<PresetRow> rows;
  for (const BuiltIn& preset : built_in_table()) {
    rows.push_back({preset.name, preset.help, preset.tried, ""});
  }
  const std::vector<PresetFile> files = OCRTUNE_TRY(preset_files());
  for (const PresetFile& preset : files) {
    rows.push_back({preset.name, preset.help, tried_text(preset), preset.path});
  }
  return rows;
}

Result<PresetService> preset_service(const std::string& name) {
  const std::vector<PresetFile> files = OCRTUNE_TRY(preset_files());
  for (const PresetFile& preset : files) {
    if (preset.name == name) return preset.service;
  }
  return PresetService();
}

bool preset_trains(const std::string& name) {
  if (name.empty()) return true;
  for (const BuiltIn& preset : built_in_table()) {
    if (name == preset.name) return preset.trains;
  }
  const auto files = preset_files();
  // A file that is wrong is told where presets are listed or applied.
  if (!files) return true;
  const auto found = std::find_if(files->begin(), files->end(),
                                  [&](const PresetFile& preset) { return preset.name == name; });
  return found == files->end() || found->trains;
}

Status apply_preset(PreparedCommand& command, const Machine& machine, const KnobChoice& choose) {
  const std::string& name = command.workload.preset;
  for (const BuiltIn& preset : built_in_table()) {
    if (name == preset.name) return preset.apply(command, machine, choose);
  }
  const auto files = preset_files();
  if (name.empty()) {
    if (choose) OCRTUNE_TRY(choose(command));
    // A wrong file of somebody else's program must not stop this command.
    if (!files) {
      command.warnings.push_back(files.error().what);
      return Status();
    }
    const auto recognised = recognised_preset(command.workload, *files);
    if (recognised) add_recognised_variables(command, *recognised);
    return Status();
  }
  if (!files) return files.error();
  std::vector<std::string> names;
  for (const BuiltIn& preset : built_in_table()) names.emplace_back(preset.name);
  for (const PresetFile& preset : *files) {
    if (name == preset.name) return apply_preset_file(command, preset, machine, choose);
    names.push_back(preset.name);
  }
  const std::string near = nearest_name(name, names);
  return Error{ErrorKind::usage, fmt::format("no preset '{}'; {}", name,
                                             near.empty() ? "there is " + join(names, ", ")
                                                          : "did you mean '" + near + "'?")};
}

}  // namespace ocrtune
