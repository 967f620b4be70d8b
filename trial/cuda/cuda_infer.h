// Reading lines on a GPU: what `ocrtune-cuda-core infer --spec JSON` runs.
#pragma once

#include <string>

namespace ocrtune {

int run_cuda_reader(const std::string& spec_text);  // the process's exit code

}  // namespace ocrtune
