// PaddleOCR's tools/infer/predict_system.py: what its flags do, and what they do not.
//
// cpu_threads is looked at only with enable_mkldnn; use_mp gives every process the same GPU, so
// each GPU gets a process of its own here, with its share of the images; the text of results goes
// to one file that the last process overwrites. Sources: PaddleOCR tools/infer/utility.py and
// predict_system.py, 2.x.
#pragma once

#include "base/result.h"
#include "probes/machine/machine.h"
#include "trial/workloads/command/command_workload.h"

namespace ocrtune {

// usage: another program, a knob without effect there; missing: no --image_dir, or it is not there.
Status apply_paddleocr_infer_preset(PreparedCommand& command, const Machine& machine,
                                    const KnobChoice& choose = {});

}  // namespace ocrtune
