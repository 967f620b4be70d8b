// Documents come from files that the user names, so that any field may be missing.
#include "reports/html/document_fields.h"

#include <nlohmann/json.hpp>

namespace ocrtune {

using Json = nlohmann::json;

double field_number(const Json& at, const char* key) {
  const auto found = at.find(key);
  return found != at.end() && found->is_number() ? found->get<double>() : 0;
}

std::string field_text(const Json& at, const char* key) {
  const auto found = at.find(key);
  return found != at.end() && found->is_string() ? found->get<std::string>() : "";
}

Json field_object(const Json& at, const char* key) {
  const auto found = at.find(key);
  return found != at.end() && found->is_object() ? *found : Json::object();
}

std::vector<Json> field_list(const Json& at, const char* key) {
  const auto found = at.find(key);
  if (found == at.end() || !found->is_array()) return {};
  return {found->begin(), found->end()};
}

}  // namespace ocrtune
