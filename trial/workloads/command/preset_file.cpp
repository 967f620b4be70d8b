// The reading goes on after a mistake, since TomlReader keeps the first one. Every key is named in
// allow(), so that a misspelt one is told.
#include "trial/workloads/command/preset_file.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "trial/workloads/command/command_template.h"
#include "trial/workloads/command/preset_check.h"
#include "trial/workloads/command/toml_reader.h"

namespace ocrtune {
namespace {

void read_knob(TomlReader& reader, const toml::table& table, const std::string& name,
               PresetFile& preset) {
  const std::string prefix = "knobs." + name + ".";
  PresetKnob& knob = preset.knobs[name];
  reader.allow(table, prefix, {"flags", "environment", "usual", "values", "needs", "behind"});
  reader.pairs(table, prefix, "flags", knob.flags);
  reader.pairs(table, prefix, "environment", knob.environment);
  if (const toml::node* usual = table.get("usual")) {
    const auto value = usual->value_exact<std::int64_t>();
    if (!value || *value < 1 || *value > 1000000) {
      return reader.wrong(*usual, prefix + "usual", "needs a whole number from 1");
    }
    knob.usual = static_cast<int>(*value);
  }
  reader.texts(table, "values", knob.values);
  reader.texts(table, "needs", knob.needs);
  reader.texts(table, "behind", knob.behind);
  NameValues all = knob.flags;
  all.insert(all.end(), knob.environment.begin(), knob.environment.end());
  // A knob that reaches nothing would be varied in vain.
  const bool used = std::any_of(all.begin(), all.end(), [&](const auto& one) {
    const auto names = placeholder_names(one.second);
    return std::find(names.begin(), names.end(), name) != names.end();
  });
  if (used) return;
  reader.wrong(table, "knobs." + name,
               fmt::format("no flag or variable of it holds {{{}}}: write flags = {{ \"--{}\" = "
                           "\"{{{}}}\" }}",
                           name, name, name));
}

void read_knobs(TomlReader& reader, const toml::table& document, PresetFile& preset) {
  const toml::table* knobs = reader.section(document, "knobs");
  if (knobs == nullptr) return;
  for (const auto& [key, node] : *knobs) {
    const std::string name(key.str());
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      return reader.wrong(node, "knobs." + name, fmt::format("needs a section, [knobs.{}]", name));
    }
    read_knob(reader, *table, name, preset);
  }
}

void read_tried(TomlReader& reader, const toml::table& document, PresetFile& preset) {
  const toml::node* node = document.get("tried");
  if (node == nullptr) return;
  const toml::array* list = node->as_array();
  if (list == nullptr) return reader.wrong(*node, "tried", "needs [[tried]] sections");
  for (const toml::node& one : *list) {
    const toml::table* table = one.as_table();
    const auto version =
        table == nullptr ? std::nullopt : (*table)["version"].value_exact<std::string>();
    const auto date = table == nullptr ? std::nullopt : (*table)["date"].value<toml::date>();
    if (!version || !date) {
      return reader.wrong(one, "tried", "needs version = \"1.2\" and date = 2026-01-31");
    }
    reader.allow(*table, "tried.", {"version", "date"});
    preset.tried.emplace_back(*version,
                              fmt::format("{:04}-{:02}-{:02}", date->year, date->month, date->day));
  }
}

std::vector<std::string> preset_folders() {
  std::vector<std::string> folders;
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  if (config != nullptr && *config != '\0') {
    folders.push_back(join_path(config, "ocrtune/presets"));
  } else if (home != nullptr && *home != '\0') {
    folders.push_back(join_path(home, ".config/ocrtune/presets"));
  }
  const std::string program = own_program();
  const std::string above = program.substr(0, program.rfind('/')) + "/..";
  folders.push_back(join_path(above, "share/ocrtune/presets"));
  folders.push_back(join_path(above, "presets"));  // of a build folder in the source tree
  return folders;
}

}  // namespace

Result<PresetFile> parse_preset(const std::string& text, const std::string& path) {
  const auto document = OCRTUNE_TRY(parse_toml(text, path));
  TomlReader reader(path);
  PresetFile preset;
  preset.path = path;
  preset.name = base_name(path);
  preset.name = preset.name.substr(0, preset.name.rfind(".toml"));
  reader.allow(document, "",
               {"help", "words", "notes", "files", "behind", "trains", "tried", "read", "knobs",
                "service", "trial"});
  reader.text(document, "", "help", preset.help);
  reader.texts(document, "words", preset.words);
  reader.texts(document, "notes", preset.notes);
  reader.texts(document, "files", preset.files);
  reader.texts(document, "behind", preset.behind);
  if (const toml::node* trains = document.get("trains")) {
    if (!trains->is_boolean()) reader.wrong(*trains, "trains", "needs true or false");
    preset.trains = trains->value_or(true);
  }
  read_tried(reader, document, preset);
  if (const toml::table* read = reader.section(document, "read")) {
    reader.allow(*read, "read.", {"log_reader", "metric", "metric_of", "log_file", "answers"});
    reader.text(*read, "read.", "log_reader", preset.log_reader);
    reader.text(*read, "read.", "metric", preset.metric);
    reader.text(*read, "read.", "metric_of", preset.metric_of);
    reader.text(*read, "read.", "log_file", preset.log_file);
    reader.texts(*read, "answers", preset.answers);
  }
  read_knobs(reader, document, preset);
  if (const toml::table* service = reader.section(document, "service")) {
    reader.allow(*service, "service.", {"url", "metrics", "flags"});
    reader.text(*service, "service.", "url", preset.service.url);
    reader.text(*service, "service.", "metrics", preset.service.metrics);
    reader.pairs(*service, "service.", "flags", preset.service.flags);
    if (preset.service.url.empty()) {
      reader.wrong(*service, "service.url",
                   "is missing: write url = \"http://127.0.0.1:{port}/...\"");
    }
  }
  if (const toml::table* trial = reader.section(document, "trial")) {
    reader.allow(*trial, "trial.", {"flags", "environment", "behind"});
    reader.pairs(*trial, "trial.", "flags", preset.trial_flags);
    reader.pairs(*trial, "trial.", "environment", preset.trial_environment);
    reader.texts(*trial, "behind", preset.trial_behind);
  }
  if (preset.help.empty()) {
    reader.wrong(document, "help", "is missing: write help = \"one line on the program\"");
  }
  if (!preset.metric_of.empty() && preset.metric_of != "rank" && preset.metric_of != "job") {
    reader.wrong(document, "read.metric_of", "needs \"rank\" or \"job\"");
  }
  check_preset(reader, document);
  if (!reader.status()) return reader.status().error();
  return preset;
}

Result<std::vector<PresetFile>> preset_files() {
  std::map<std::string, PresetFile> by_name;
  for (const std::string& folder : preset_folders()) {
    const auto names = list_directory(folder);
    if (!names) continue;
    for (const std::string& name : *names) {
      if (!ends_with(name, ".toml")) continue;
      const std::string path = real_path(join_path(folder, name)).value_or(join_path(folder, name));
      const std::string text = OCRTUNE_TRY(read_file(path, 1 << 20));
      PresetFile preset = OCRTUNE_TRY(parse_preset(text, path));
      // The first folder wins: the user's own presets come first.
      by_name.try_emplace(preset.name, std::move(preset));
    }
  }
  std::vector<PresetFile> presets;
  for (auto& [name, preset] : by_name) presets.push_back(std::move(preset));
  return presets;
}

}  // namespace ocrtune
