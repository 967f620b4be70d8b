// The signature table compiled: which rows does a line match, and is a block worth looking at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/signatures/signatures.h"

namespace ocrtune {

struct SignatureMatch {
  const SignatureRow* signature = nullptr;
  int index = 0;  // in signature_table()
  std::vector<std::string> captures;
};

// False: no line of the block can match any signature. One pass of a DFA over the literals.
bool may_match(std::string_view block);

// Every row that the line, or its text behind the names that stand before it, matches, in table
// order.
std::vector<SignatureMatch> match_line(std::string_view line, std::string_view behind_names);

// A line that the program itself calls no error: "WARNING", "UserWarning: ", "W0812 14:01:22 ...",
// or that it tries again after.
bool is_warning(std::string_view line);

// Rows whose pattern does not compile or has no literal for the prefilter.
std::vector<std::string> unsound_patterns();

}  // namespace ocrtune
