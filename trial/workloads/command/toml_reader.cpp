// value_exact() takes no conversions: a number where a text belongs is a mistake of the file.
#include "trial/workloads/command/toml_reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {

void TomlReader::wrong(const toml::node& at, const std::string& key, const std::string& what) {
  // The first mistake stays; what follows may come of it.
  if (!status_) return;
  status_ = Error{ErrorKind::invalid,
                  fmt::format("{}:{}: {}: {}", path_, at.source().begin.line, key, what)};
}

void TomlReader::allow(const toml::table& table, const std::string& prefix,
                       const std::vector<std::string>& keys) {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (std::find(keys.begin(), keys.end(), name) != keys.end()) continue;
    const std::string near = nearest_name(name, keys);
    wrong(node, prefix + name,
          near.empty() ? "no such key; there are " + join(keys, ", ")
                       : "no such key; did you mean " + near + "?");
  }
}

void TomlReader::text(const toml::table& table, const std::string& prefix, const char* key,
                      std::string& into) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return;
  const auto value = node->value_exact<std::string>();
  if (!value) return wrong(*node, prefix + key, "needs a text in quotes");
  into = *value;
}

void TomlReader::texts(const toml::table& table, const char* key, std::vector<std::string>& into) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return;
  const toml::array* list = node->as_array();
  if (list == nullptr) return wrong(*node, key, "needs a list, such as [\"--image_dir\"]");
  for (const toml::node& one : *list) {
    const auto value = one.value_exact<std::string>();
    if (!value) return wrong(one, key, "needs texts in quotes");
    into.push_back(*value);
  }
}

void TomlReader::pairs(const toml::table& table, const std::string& prefix, const char* key,
                       std::vector<std::pair<std::string, std::string>>& into) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return;
  const toml::table* values = node->as_table();
  if (values == nullptr) {
    return wrong(*node, prefix + key, "needs a table, such as { \"--jobs\" = \"{nproc}\" }");
  }
  for (const auto& [name, value] : *values) {
    const std::string full = prefix + key + "." + std::string(name.str());
    const auto said = value.value_exact<std::string>();
    if (!said) return wrong(value, full, "needs a text in quotes, such as \"{threads}\"");
    into.emplace_back(std::string(name.str()), *said);
  }
}

const toml::table* TomlReader::section(const toml::table& table, const char* key) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return nullptr;
  if (!node->is_table()) wrong(*node, key, fmt::format("needs a section, [{}]", key));
  return node->as_table();
}

}  // namespace ocrtune
