// A struct as columns of a table, from its list of fields (trial/ipc/trial_fields.h): numbers are
// REAL or INTEGER, texts TEXT, lists JSON in a TEXT.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "tuner/store/flat_json.h"
#include "tuner/store/sqlite.h"

namespace ocrtune {

// ", NAME TYPE" for each field.
template <typename Object, typename List>
std::string column_types(const List& list) {
  std::string sql;
  const Object object;
  list(object, [&](const char* name, const auto& field) {
    using Field = std::decay_t<decltype(field)>;
    sql += std::string(", ") + name +
           (std::is_floating_point_v<Field> ? " REAL"
            : std::is_integral_v<Field>     ? " INTEGER"
                                            : " TEXT");
  });
  return sql;
}

// ", NAME" for each field.
template <typename Object, typename List>
std::string column_names(const List& list) {
  std::string sql;
  const Object object;
  list(object, [&](const char* name, const auto& /*field*/) { sql += std::string(", ") + name; });
  return sql;
}

// ", ?" for each field.
template <typename Object, typename List>
std::string column_marks(const List& list) {
  std::string sql;
  const Object object;
  list(object, [&](const char* /*name*/, const auto& /*field*/) { sql += ", ?"; });
  return sql;
}

template <typename Field>
std::string column_text(const Field& field) {
  return nlohmann::json(field).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template <typename Object, typename List>
void write_columns(const List& list, const Object& object, Statement& row) {
  list(object, [&](const char* /*name*/, const auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if constexpr (std::is_floating_point_v<Field>) {
      row << static_cast<double>(field);
    } else if constexpr (std::is_integral_v<Field>) {
      row << static_cast<std::int64_t>(field);
    } else if constexpr (std::is_same_v<Field, std::string>) {
      row << field;
    } else {
      row << column_text(field);
    }
  });
}

// An object of plain values alone; false: it is another one.
template <typename Field>
bool read_flat(const std::string& text, Field& field) {
  if constexpr (requires { listed_fields(&field); }) {
    const auto json = FlatJson::read(text);
    if (!json) return false;
    Field read;
    bool all = true;
    listed_fields (&read)(
        read, [&](const char* name, auto& into) { all = all && json->take(name, into); });
    if (all) field = std::move(read);
    return all;
  } else {
    return false;
  }
}

// Of an object that is as it was made. A list that is no such JSON stays empty: the raw text is in
// the file.
template <typename Object, typename List>
void read_columns(const List& list, Statement& row, Object& object) {
  list(object, [&](const char* /*name*/, auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if constexpr (std::is_floating_point_v<Field>) {
      field = static_cast<Field>(row.real());
    } else if constexpr (std::is_integral_v<Field>) {
      field = static_cast<Field>(row.integer());
    } else if constexpr (std::is_same_v<Field, std::string>) {
      field = row.text();
    } else {
      static const std::string kEmpty = column_text(Field());  // what most rows have
      const std::string text = row.text();
      if (text == kEmpty || read_flat(text, field)) return;
      try {
        nlohmann::json::parse(text).get_to(field);
      } catch (const std::exception&) {
        field = {};
      }
    }
  });
}

}  // namespace ocrtune
