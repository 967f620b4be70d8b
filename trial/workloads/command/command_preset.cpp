#include "trial/workloads/command/command_preset.h"

#include <fmt/format.h>

#include "base/text.h"
#include "trial/workloads/command/paddleocr_infer_preset.h"
#include "trial/workloads/command/paddleocr_preset.h"

namespace ocrtune {

const std::vector<PresetRow>& preset_table() {
  static const std::vector<PresetRow> kTable = {
      {"paddleocr", "PaddleOCR's tools/train.py: sets the -o keys that a short trial needs",
       apply_paddleocr_preset},
      {"paddleocr-infer",
       "PaddleOCR's tools/infer/predict_system.py: one process for each GPU, or use_mp on CPUs",
       apply_paddleocr_infer_preset},
  };
  return kTable;
}

Status apply_preset(PreparedCommand& command, const Machine& machine) {
  std::vector<std::string> names;
  for (const PresetRow& row : preset_table()) {
    if (command.workload.preset == row.name) return row.apply(command, machine);
    names.emplace_back(row.name);
  }
  return Error{ErrorKind::usage, fmt::format("no preset '{}'; there is {}", command.workload.preset,
                                             join(names, ", "))};
}

}  // namespace ocrtune
