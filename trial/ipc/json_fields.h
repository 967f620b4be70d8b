// An object as JSON and back, by one list of its fields: list(object, visit) calls
// visit(name, field) for each. For what one process tells another.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/byte_text.h"
#include "base/result.h"
#include "base/tables/visit.h"

namespace ocrtune {

using FieldsJson = nlohmann::json;

// The whole list of a struct whose fields are all called as they are stored (listed_fields below).
#define OCRTUNE_FIELDS(Struct, ...)                                                \
  constexpr auto listed_fields(const Struct*) {                                    \
    return [](auto& object, const auto& visit) OCRTUNE_VISIT(object, __VA_ARGS__); \
  }

template <typename List, typename Object>
FieldsJson fields_json(const List& list, const Object& object) {
  FieldsJson json;
  list(object, [&](const char* name, const auto& field) { json[name] = field; });
  return json;
}

// Every text of it through `change`: utf8_of_bytes on the way out, bytes_of_utf8 on the way in.
template <typename Json>
void change_texts(Json& json, std::string (*change)(std::string_view)) {
  if (json.is_string()) json = change(json.template get_ref<const std::string&>());
  if (json.is_structured()) {
    for (auto& one : json) change_texts(one, change);
  }
}

// One line; a path that is no UTF-8 is carried as base/byte_text.h says.
inline std::string json_line(FieldsJson json) {
  change_texts(json, utf8_of_bytes);
  return json.dump();
}

// The library takes any number for any other, which is undefined for what does not fit.
template <typename Field>
void read_field(const char* name, const FieldsJson& json, Field& field) {
  if constexpr (std::is_integral_v<Field> && !std::is_same_v<Field, bool>) {
    const bool fits =
        json.is_number_unsigned()
            ? std::in_range<Field>(json.get<std::uint64_t>())
            : json.is_number_integer() && std::in_range<Field>(json.get<std::int64_t>());
    if (!fits) throw std::out_of_range(std::string(name) + " is " + json.dump());
  }
  json.get_to(field);
}

template <typename Element>
void read_field(const char* name, const FieldsJson& json, std::vector<Element>& field) {
  field.clear();
  for (const FieldsJson& one : json.get_ref<const FieldsJson::array_t&>()) {
    read_field(name, one, field.emplace_back());
  }
}

// Throws std::exception where a field lacks, is of another type or out of its range.
template <typename Object, typename List>
Object read_fields(const List& list, const FieldsJson& json) {
  Object object;
  list(object, [&](const char* name, auto& field) { read_field(name, json.at(name), field); });
  return object;
}

// Of a struct within another one: `listed_fields(const T*)` beside its list gives that list. What
// was written before a field was added is read without it.
template <typename Object>
requires requires(const Object* object) { listed_fields(object); }
void to_json(FieldsJson& json, const Object& object) {
  json = fields_json(listed_fields(&object), object);
}
template <typename Object>
requires requires(const Object* object) { listed_fields(object); }
void from_json(const FieldsJson& json, Object& object) {
  const auto& held = json.get_ref<const FieldsJson::object_t&>();
  listed_fields (&object)(object, [&](const char* name, auto& field) {
    const auto found = held.find(name);
    if (found != held.end()) read_field(name, found->second, field);
  });
}

// usage: `what` and what is wrong with it. `more` reads what is no field of the list.
template <typename Object, typename List, typename More>
Result<Object> parse_fields(const List& list, const std::string& text, const char* what,
                            const More& more) {
  try {
    FieldsJson json = FieldsJson::parse(text);
    change_texts(json, bytes_of_utf8);
    Object object = read_fields<Object>(list, json);
    OCRTUNE_TRY(more(json, object));
    return object;
  } catch (const std::exception& problem) {
    return Error{ErrorKind::usage, std::string(what) + ": " + problem.what()};
  }
}

template <typename Object, typename List>
Result<Object> parse_fields(const List& list, const std::string& text, const char* what) {
  return parse_fields<Object>(list, text, what,
                              [](const FieldsJson&, Object&) { return Status(); });
}

}  // namespace ocrtune
