// The keys that docs/schema.md names for a document, for tests that hold a program's JSON against
// it.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "base/files.h"

namespace ocrtune {

// The first key of the object that the section "## HEADING" does not name in backticks; empty:
// all are there. The section may be missing: then the first key.
inline std::string undocumented_key(const std::string& heading, const nlohmann::json& object) {
  const std::string document =
      read_file(std::string(OCRTUNE_SOURCE_DIR) + "/docs/schema.md").value_or("");
  const std::size_t begin = document.find("\n## " + heading + "\n");
  if (begin == std::string::npos) return "## " + heading;
  const std::string section = document.substr(begin, document.find("\n## ", begin + 1) - begin);
  for (const auto& [key, value] : object.items()) {
    const bool named = section.find("`" + key + "`") != std::string::npos ||
                       section.find("`" + key + "[]") != std::string::npos;
    if (!named) return key;
  }
  return "";
}

}  // namespace ocrtune
