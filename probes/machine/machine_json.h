// The machine card as one JSON document, and back. What is written is read back equal.
//
// Scalars are bare and null when unknown; `sources` says where each came from or why it is unknown.
// Names carry units and stay stable; readers skip names that they do not know.
#pragma once

#include <string>

#include "base/result.h"
#include "probes/machine/machine.h"

namespace ocrtune {

// The key "schema": counts up only if a key ever changes its meaning.
inline constexpr int kProbeSchema = 1;

std::string machine_json(const Machine& machine, int indent = 2);  // indent -1: one line

// Errors of kind invalid: not JSON, not an object, or a value of the wrong type (named).
Result<Machine> parse_machine_json(const std::string& text);

}  // namespace ocrtune
