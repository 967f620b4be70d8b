// An object as JSON and back, by one list of its fields: list(object, visit) calls
// visit(name, field) for each. For what one process tells another.
#pragma once

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace ocrtune {

using FieldsJson = nlohmann::json;

template <typename List, typename Object>
FieldsJson fields_json(const List& list, const Object& object) {
  FieldsJson json;
  list(object, [&](const char* name, const auto& field) { json[name] = field; });
  return json;
}

// One line; bytes that are no UTF-8 are replaced.
inline std::string json_line(const FieldsJson& json) {
  return json.dump(-1, ' ', false, FieldsJson::error_handler_t::replace);
}

// Throws FieldsJson::exception where a field lacks or is of another type.
template <typename Object, typename List>
Object read_fields(const List& list, const FieldsJson& json) {
  Object object;
  list(object, [&](const char* name, auto& field) { json.at(name).get_to(field); });
  return object;
}

// usage: `what` and what is wrong with it. `more` reads what is no field of the list.
template <typename Object, typename List, typename More>
Result<Object> parse_fields(const List& list, const std::string& text, const char* what,
                            const More& more) {
  try {
    const FieldsJson json = FieldsJson::parse(text);
    Object object = read_fields<Object>(list, json);
    if (Status rest = more(json, object); !rest) return rest.error();
    return object;
  } catch (const FieldsJson::exception& problem) {
    return Error{ErrorKind::usage, std::string(what) + ": " + problem.what()};
  }
}

template <typename Object, typename List>
Result<Object> parse_fields(const List& list, const std::string& text, const char* what) {
  return parse_fields<Object>(list, text, what,
                              [](const FieldsJson&, Object&) { return Status(); });
}

}  // namespace ocrtune
