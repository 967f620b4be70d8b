// The next safer setting after a failure: what a launch command looks like with fewer workers,
// fewer ranks, a smaller batch or P2P off.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/causes.h"
#include "trial/workloads/command/command_fill.h"

namespace ocrtune {

// Applies the remedy, or the next one that this command allows: through a knob's placeholder, a
// known argument (--nproc_per_node=8, Train.loader.num_workers=8, ...) or, for PaddleOCR's
// train.py, a new override. What changed, in words; empty when nothing could be changed.
std::string make_safer(LaunchSetting& setting, Remedy remedy);

// The command with `resume_argument` ("Global.checkpoints={checkpoint}") appended, once.
std::vector<std::string> resuming_command(std::vector<std::string> command,
                                          const std::string& resume_argument,
                                          const std::string& checkpoint);

// What nobody tells the command although a checkpoint is named; empty: it is told.
std::string untold_checkpoint(const std::string& checkpoint, const std::string& resume_argument);

}  // namespace ocrtune
