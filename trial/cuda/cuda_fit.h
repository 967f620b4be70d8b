// Training to a step on a GPU: what `ocrtune-cuda-core fit --spec JSON` runs.
#pragma once

#include <string>

namespace ocrtune {

int run_cuda_fit(const std::string& spec_text);  // the process's exit code

}  // namespace ocrtune
