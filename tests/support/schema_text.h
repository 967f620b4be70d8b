// The documents of docs/schema.md, for tests that hold a program's JSON against them.
#pragma once

#include <algorithm>
#include <cmath>
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

// What of JSON Schema the files of docs/schema use. Gives the first fault with its place.
class SchemaFile {
 public:
  explicit SchemaFile(const std::string& name)
      : schema_(nlohmann::json::parse(
            read_file(std::string(OCRTUNE_SOURCE_DIR) + "/docs/schema/" + name + ".json")
                .value_or(""),
            nullptr, false)) {}

  // Empty: none. A key of the document itself that the schema does not name is one.
  std::string fault(const nlohmann::json& document) const {
    if (!schema_.is_object()) return "no such schema";
    const nlohmann::json& top = schema_.contains("items") ? schema_.at("items") : schema_;
    for (const auto& one : document.is_array() ? document : nlohmann::json::array({document})) {
      for (const auto& [key, value] : one.items()) {
        if (!top.at("properties").contains(key)) return key + ": not named";
      }
    }
    return fault(schema_, document, "");
  }

 private:
  static bool is(const std::string& type, const nlohmann::json& value) {
    if (type == "integer" && value.is_number_float()) {
      return std::floor(value.get<double>()) == value.get<double>();  // 1.0 is one
    }
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    return type == "null" && value.is_null();
  }

  std::string fault(const nlohmann::json& schema, const nlohmann::json& value,
                    const std::string& at) const {
    const std::string reference = schema.value("$ref", "");
    if (!reference.empty()) {
      return fault(schema_.at(nlohmann::json::json_pointer(reference.substr(1))), value, at);
    }
    if (schema.contains("anyOf")) {
      std::string last;
      for (const auto& one : schema["anyOf"]) {
        last = fault(one, value, at);
        if (last.empty()) return "";
      }
      return last;
    }
    if (schema.contains("type")) {
      bool fits = false;
      for (const auto& type :
           schema["type"].is_array() ? schema["type"] : nlohmann::json::array({schema["type"]})) {
        fits = fits || is(type, value);
      }
      if (!fits) return at + ": no " + schema["type"].dump() + ": " + value.dump().substr(0, 60);
    }
    const auto codes = schema.find("enum");
    if (codes != schema.end() && std::find(codes->begin(), codes->end(), value) == codes->end()) {
      return at + ": not one of " + codes->dump() + ": " + value.dump();
    }
    for (const auto& key : schema.value("required", nlohmann::json::array())) {
      const auto name = key.get<std::string>();
      if (!value.contains(name)) return at + "/" + name + ": missing";
    }
    std::string first;
    const nlohmann::json fields = schema.value("properties", nlohmann::json::object());
    for (const auto& [key, one] : fields.items()) {
      if (first.empty() && value.contains(key)) first = fault(one, value[key], at + "/" + key);
    }
    if (!schema.contains("items")) return first;
    for (const auto& one : value) {
      if (first.empty()) first = fault(schema["items"], one, at + "[]");
    }
    return first;
  }

  nlohmann::json schema_;
};

inline std::string schema_fault(const std::string& name, const nlohmann::json& document) {
  return SchemaFile(name).fault(document);
}

}  // namespace ocrtune
