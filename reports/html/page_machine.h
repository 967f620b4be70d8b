// The machine card of the page: what was found, where each fact came from, what is unknown.
#pragma once

#include <string>

#include "tuner/store/run_record.h"

namespace ocrtune {

std::string machine_section(const RunRecord& run);

}  // namespace ocrtune
