// A user's restriction of the space: "nproc*threads<=16", "batch>=8", "precision=fp32".
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "trial/knobs.h"

namespace ocrtune {

struct Constraint {
  std::string text;                // as the user wrote it
  std::vector<std::string> terms;  // names whose product is compared
  std::string comparison;          // <= >= < > = !=
  std::string bound;               // a number; for = and != of one name, any word
};

// usage: quotes the text and says what the form is.
Result<Constraint> parse_constraint(const std::string& text);

// A setting that lacks one of the names does not satisfy the constraint.
bool satisfies(const Knobs& knobs, const Constraint& constraint);

}  // namespace ocrtune
