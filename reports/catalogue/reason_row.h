// A row of the catalogue: the sentence of one code in both languages.
//
// The rows stand in the order of the codes and have as many holes as a code has arguments; the
// compiler checks both. {} takes the next argument, {2} the third; {0:time|times} is the first word
// if the first argument is 1, else the second.
#pragma once

#include <string_view>

#include "trial/reason.h"

namespace ocrtune {

struct ReasonRow {
  ReasonCode code;
  std::string_view english, chinese;
};

}  // namespace ocrtune
