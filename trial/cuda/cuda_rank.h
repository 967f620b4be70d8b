// Training as a trial's rank on a GPU: what `ocrtune-cuda-core train --spec JSON` runs.
#pragma once

#include <string>

namespace ocrtune {

int run_cuda_rank(const std::string& spec_text);  // the process's exit code

}  // namespace ocrtune
