// Reads the tables of a TOML file of ours: the first thing that is wrong is told with file, line
// and key, and what is wanted instead.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "trial/workloads/command/toml_text.h"

namespace ocrtune {

class TomlReader {
 public:
  explicit TomlReader(std::string path) : path_(std::move(path)) {}

  const Status& status() const { return status_; }
  void wrong(const toml::node& at, const std::string& key, const std::string& what);

  // `prefix`, such as "knobs.batch.", stands before the key in what is told.
  void allow(const toml::table& table, const std::string& prefix,
             const std::vector<std::string>& keys);
  // Values of keys that are there; others stay.
  void text(const toml::table& table, const std::string& prefix, const char* key,
            std::string& into);
  void texts(const toml::table& table, const char* key, std::vector<std::string>& into);
  void pairs(const toml::table& table, const std::string& prefix, const char* key,
             std::vector<std::pair<std::string, std::string>>& into);
  const toml::table* section(const toml::table& table, const char* key);  // null: it is not there

 private:
  std::string path_;
  Status status_;
};

}  // namespace ocrtune
