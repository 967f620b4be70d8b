// PaddleOCR's tools/train.py: which `-o` keys a short trial needs, merged with the user's own, and
// what to say about a config before it is tried.
//
// Only the last `-o` of a command counts, so all are merged into one. The batch of configs with a
// sampler is Train.sampler.first_bs. Evaluation cannot be switched off, only put off. Sources:
// PaddleOCR tools/program.py, ppocr/data, docs of 2.x and 3.x.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "probes/machine/machine.h"
#include "trial/workloads/command/command_workload.h"

namespace ocrtune {

// usage: no -c CONFIG in the command; missing: the config or its label files; invalid: not YAML, or
// without a Train section.
Status apply_paddleocr_preset(PreparedCommand& command, const Machine& machine,
                              const KnobChoice& choose = {});

// The command with one `-o` group at its end that holds the user's overrides and `overrides`, which
// win; `groups` (may be null) gets how many -o the command had.
std::vector<std::string> merge_overrides(
    const std::vector<std::string>& command,
    const std::vector<std::pair<std::string, std::string>>& overrides, int* groups);

}  // namespace ocrtune
