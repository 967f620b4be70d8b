// What a comparison of configurations found, as text and as JSON.
#pragma once

#include <string>

#include "extras/consistency/consistency.h"

namespace ocrtune {

std::string consistency_text(const Consistency& consistency, std::size_t configs);

// {"consistent", "differences": [{"key", "values": {node: value}, "effect"}], "local": [...],
// "notes": [...]}
std::string consistency_json(const Consistency& consistency);

}  // namespace ocrtune
