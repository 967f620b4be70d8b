// Settings that read another text than the present one, with lines side by side.
#pragma once

#include <string>

#include "tuner/store/run_record.h"

namespace ocrtune {

// Empty where no setting read otherwise. `run` was judged.
std::string texts_section(const RunRecord& run);

}  // namespace ocrtune
