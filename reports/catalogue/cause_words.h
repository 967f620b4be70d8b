// What a cause is called and what it means, for the reader.
#pragma once

#include <string>

#include "diagnosis/causes.h"
#include "reports/catalogue/phrases.h"

namespace ocrtune {

// Of cause_table() or a word that trials use for themselves; else the same in both languages.
Bilingual cause_name(const std::string& cause);

// In English, or in Chinese; every row of cause_table() has both.
std::string meaning_of(const CauseRow& cause, bool chinese);

}  // namespace ocrtune
