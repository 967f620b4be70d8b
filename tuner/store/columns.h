// A struct as columns of a table, from its list of fields (trial/ipc/trial_fields.h): numbers are
// REAL or INTEGER, texts TEXT, lists JSON in a TEXT.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include <nlohmann/json.hpp>

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
      row << nlohmann::json(field).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
  });
}

// A list that is no such JSON stays empty: the raw text is in the file.
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
      try {
        nlohmann::json::parse(row.text()).get_to(field);
      } catch (const std::exception&) {
        field = {};
      }
    }
  });
}

}  // namespace ocrtune
