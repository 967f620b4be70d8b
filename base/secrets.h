// Values that must not be stored or shown: known by the names that they go by, or by their shape.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"

namespace ocrtune {

inline constexpr const char* kMask = "***";

// A name of a variable, flag or key of which one word is TOKEN, SECRET, PASSWORD, PASS, AUTH, KEY,
// CREDENTIAL or the like, in either case: HF_TOKEN, --api-key, DB_PASS, MYSQL_PWD, dbPassword.
bool looks_secret(std::string_view name);

// NAME=VALUE, "NAME": "VALUE" and user:VALUE@host of a URL anywhere in the text, with the mask for
// VALUE where the name looks secret; signatures of a URL's query; tokens of HTTP headers; keys that
// show by their shape what they are (sk-..., hf_..., AKIA...).
std::string masked_text(std::string_view text);

// Does a mask stand where masked_text() puts it, in place of a value that was there?
bool holds_mask(std::string_view text);

// Arguments one by one, and the argument after a flag that looks secret: --api-key VALUE.
std::vector<std::string> masked_arguments(const std::vector<std::string>& arguments);

// The values, of 4 bytes or more, of the variables that look secret.
std::vector<std::string> secret_values(const Environment& environment);

// The text with the mask for each of the values, and masked_text() of it.
std::string without_secrets(std::string_view text, const std::vector<std::string>& values);

}  // namespace ocrtune
