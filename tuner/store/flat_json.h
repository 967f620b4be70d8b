// A JSON object of plain values: numbers, true, false, empty lists, and texts in ASCII without
// escapes. What a trial saw of its threads is one, in each row; a tree of it, as the JSON library
// makes one, was a third of the time in which a run is read.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ocrtune {

class FlatJson {
 public:
  // Nothing: it is not such an object. The library reads it then, or says that it is damaged.
  static std::optional<FlatJson> read(std::string_view text);

  // Puts the value of this name into `field`, which stays as it is where there is none. False: it
  // is of another kind.
  template <typename Field>
  bool take(std::string_view name, Field& field) const {
    for (const auto& [key, value] : values_) {
      if (key == name) return take_value(value, field);
    }
    return true;
  }

 private:
  std::vector<std::pair<std::string_view, std::string_view>> values_;  // as they stand in the text

  template <typename Field>
  static bool take_value(std::string_view value, Field& field) {
    if constexpr (std::is_same_v<Field, bool>) {
      field = value == "true";
      return field || value == "false";
    } else if constexpr (std::is_arithmetic_v<Field>) {
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), field);
      return error == std::errc() && end == value.data() + value.size();
    } else if constexpr (std::is_same_v<Field, std::string>) {
      if (value.front() != '"') return false;
      field = value.substr(1, value.size() - 2);
      return true;
    } else if constexpr (requires { field.clear(); }) {
      field.clear();
      return value == "[]";
    } else {
      return false;
    }
  }
};

}  // namespace ocrtune
