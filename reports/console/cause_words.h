// What a cause means, for the reader.
#pragma once

#include <string>

#include "diagnosis/causes.h"

namespace ocrtune {

// In English, or in Chinese; every row of cause_table() has both.
std::string meaning_of(const CauseRow& cause, bool chinese);

}  // namespace ocrtune
