// The one door to toml++, which is compiled in toml_text.cpp alone.
#pragma once

#include <string>

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 0
#include <toml++/toml.h>

#include "base/result.h"

namespace ocrtune {

// invalid: not TOML; begins with "<path>:<line>: ".
Result<toml::table> parse_toml(const std::string& text, const std::string& path);

}  // namespace ocrtune
