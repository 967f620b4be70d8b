// The sentences of all reasons (trial/reason.h), in English and in Chinese.
#pragma once

#include <string>
#include <vector>

#include "trial/reason.h"

namespace ocrtune {

enum class Language { english, chinese };

// Plain text; empty for ReasonCode::none.
std::string sentence(const Reason& reason, Language language = Language::english);
// One after the other.
std::string sentence(const std::vector<Reason>& reasons, Language language = Language::english);

// Both languages as two elements of kind `tag`, on a single line, escaped.
std::string say(const Reason& reason, const char* tag = "span");
std::string say(const std::vector<Reason>& reasons, const char* tag = "span");

}  // namespace ocrtune
