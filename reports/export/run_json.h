// A judged run as the one JSON document that `tune --json` and `show --json` print.
//
// Names carry units and stay as they are once published; docs/schema.md describes them.
#pragma once

#include <string>

#include "tuner/store/run_record.h"

namespace ocrtune {

std::string run_json(const RunRecord& run, int indent = 2);  // indent -1: one line

}  // namespace ocrtune
