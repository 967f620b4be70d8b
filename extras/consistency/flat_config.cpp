// YAML and JSON by yaml-cpp, lists of variables and versions line by line. Values are written as
// PyYAML reads them (YAML 1.1), as that is what the trainers use.
#include "extras/consistency/flat_config.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

using Values = std::map<std::string, std::string>;

// Bounds against files that are no configurations; anchors can make a small file a large tree.
constexpr std::size_t kMaxValues = 200000;
constexpr int kDeepest = 64;
constexpr std::uint64_t kLargestFile = 16 << 20;

struct Flattener {
  std::string file;
  Values values;
  std::string problem;

  void add(const std::string& key, const YAML::Node& node, int depth);
  void add_map(const std::string& key, const YAML::Node& node, int depth, bool merged);
  void add_sequence(const std::string& key, const YAML::Node& node, int depth);
};

std::string key_under(const std::string& parent, const std::string& child) {
  return parent.empty() ? child : parent + "." + child;
}

void Flattener::add_map(const std::string& key, const YAML::Node& node, int depth, bool merged) {
  std::map<std::string, int> lines;
  if (node.size() == 0 && !merged) values.emplace(key, "{}");
  for (const auto& entry : node) {
    if (!problem.empty()) return;
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "?";
    const int line = entry.first.Mark().line + 1;
    if (name == "<<") {
      continue;  // merged below, so that the mapping's own keys win
    }
    const auto [at, fresh] = lines.emplace(name, line);
    if (!fresh) {
      problem = fmt::format("{}:{}: key '{}' is given twice (first in line {})", file, line,
                            key_under(key, name), at->second);
      return;
    }
    const std::string full = key_under(key, name);
    if (merged && (values.count(full) > 0 ||
                   // '/' follows '.' in ASCII: the range holds all keys below this one.
                   values.lower_bound(full + ".") != values.lower_bound(full + "/"))) {
      continue;
    }
    add(full, entry.second, depth + 1);
  }
  for (const auto& entry : node) {
    if (!entry.first.IsScalar() || entry.first.Scalar() != "<<") continue;
    if (entry.second.IsMap()) add_map(key, entry.second, depth + 1, true);
    if (entry.second.IsSequence()) {
      for (const auto& part : entry.second) {
        if (part.IsMap()) add_map(key, part, depth + 1, true);
      }
    }
  }
}

// The entries' names: the only key of a mapping (PaddleOCR's transforms and losses) or its `name`
// or `type` (OpenOCR's, mmocr's), `#2` behind the second of one name. Empty: not all have one.
std::vector<std::string> entry_names(const YAML::Node& sequence) {
  std::vector<std::string> names;
  std::map<std::string, int> times;
  bool mappings = false;
  for (const auto& entry : sequence) {
    std::string name;
    if (entry.IsMap()) {
      mappings = true;
      for (const char* key : {"name", "type"}) {
        if (name.empty() && entry[key] && entry[key].IsScalar()) name = entry[key].Scalar();
      }
      if (name.empty() && entry.size() == 1 && entry.begin()->first.IsScalar()) {
        name = entry.begin()->first.Scalar();
      }
    } else if (entry.IsScalar()) {
      name = entry.Scalar();
    }
    if (name.empty() || name.find_first_of(".,[]") != std::string::npos) return {};
    const int time = ++times[name];
    names.push_back(time == 1 ? name : fmt::format("{}#{}", name, time));
  }
  return mappings ? names : std::vector<std::string>();
}

void Flattener::add_sequence(const std::string& key, const YAML::Node& node, int depth) {
  if (node.size() == 0) values[key] = "[]";
  const std::vector<std::string> names = entry_names(node);
  if (!names.empty()) values[key + kListNames] = join(names, ", ");
  for (std::size_t i = 0; i < node.size(); ++i) {
    const YAML::Node& entry = node[i];
    if (names.empty()) {
      add(fmt::format("{}[{}]", key, i), entry, depth + 1);
      continue;
    }
    const std::string full = fmt::format("{}[{}]", key, names[i]);
    if (!entry.IsMap()) continue;  // its name is all there is of it
    const bool wrapped = entry.size() == 1 && starts_with(names[i], entry.begin()->first.Scalar());
    const YAML::Node inside = wrapped ? entry.begin()->second : entry;
    if (inside.IsNull() || (inside.IsMap() && inside.size() == 0)) continue;
    add(full, inside, depth + 1);
  }
}

void Flattener::add(const std::string& key, const YAML::Node& node, int depth) {
  if (!problem.empty()) return;
  if (depth > kDeepest || values.size() > kMaxValues) {
    problem = fmt::format("{}: nested too deeply or too large for a configuration", file);
    return;
  }
  switch (node.Type()) {
    case YAML::NodeType::Map:
      add_map(key, node, depth, false);
      break;
    case YAML::NodeType::Sequence:
      add_sequence(key, node, depth);
      break;
    case YAML::NodeType::Scalar:
      values[key] = normal_scalar(node.Scalar(), node.Tag() == "!");
      break;
    default:
      values[key] = "null";
  }
}

bool is_name(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

bool is_package(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
}

// Lines "name==version" or "NAME=value", as pip freeze, env, export -p and declare -x write them.
// Empty when it is neither; with `lenient`, lines of any other kind (shell functions) are skipped.
Values read_lines(const std::string& text, bool lenient) {
  Values values;
  for (const std::string& whole : split(text, '\n')) {
    std::string_view line = trim(whole);
    bool exported = false;
    for (const std::string_view word : {"export ", "declare -x "}) {
      if (!starts_with(line, word)) continue;
      line = trim(line.substr(word.size()));
      exported = true;
    }
    // What pip freeze writes of a package from a folder or an address: no version.
    if (line.empty() || line[0] == '#' || starts_with(line, "-e ") ||
        line.find(" @ ") != std::string_view::npos) {
      continue;
    }
    const std::size_t twice = line.find("==");
    const std::size_t once = line.find('=');
    if (twice != std::string_view::npos && twice == once && is_package(line.substr(0, twice))) {
      values["version." + lower(line.substr(0, twice))] = std::string(line.substr(twice + 2));
    } else if (once != std::string_view::npos && is_name(line.substr(0, once))) {
      std::string_view value = line.substr(once + 1);
      if (value.size() >= 2 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0]) {
        value = value.substr(1, value.size() - 2);
      }
      values["env." + std::string(line.substr(0, once))] = std::string(value);
    } else if (!lenient && !(exported && is_name(line))) {
      return {};
    }
  }
  return values;
}

bool is_config_name(const std::string& name) {
  const std::string small = lower(name);
  constexpr std::string_view kEnds[] = {".yml", ".yaml", ".json", ".env"};
  return std::any_of(std::begin(kEnds), std::end(kEnds),
                     [&](std::string_view end) { return ends_with(small, end); }) ||
         small == "env" || small == "env.txt" || small == "env.sh" || small == "versions" ||
         small == "versions.txt" || small == "requirements.txt" || small == "pip_freeze.txt";
}

std::vector<std::string> config_files(const std::string& directory,
                                      const std::vector<std::string>& names) {
  std::vector<std::string> files;
  for (const std::string& name : names) {
    const std::string path = join_path(directory, name);
    if (is_config_name(name) && !is_directory(path)) files.push_back(path);
  }
  return files;
}

std::map<std::string, std::string> read_contents(const std::string& folder) {
  std::map<std::string, std::string> contents;
  const std::string text = read_file(join_path(folder, kContentsFile)).value_or("");
  for (const std::string& line : split(text, '\n')) {
    const std::size_t hash = line.find(' ');
    const std::size_t name = hash == std::string::npos ? hash : line.find(' ', hash + 1);
    if (name != std::string::npos) contents[line.substr(name + 1)] = line.substr(0, name);
  }
  return contents;
}

// As PyYAML reads whole numbers: 1_000 is 1000, 010 is 8. Empty: not such a number.
std::string plain_integer(const std::string& text) {
  const std::size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  std::string digits = text.substr(sign);
  if (digits.empty() || digits[0] == '_' ||
      digits.find_first_not_of("0123456789_") != std::string::npos) {
    return "";
  }
  std::erase(digits, '_');
  const bool octal = digits.size() > 1 && digits[0] == '0';
  if (octal && digits.find_first_of("89") != std::string::npos) return "";
  std::int64_t value = 0;
  const auto [end, code] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, octal ? 8 : 10);
  if (code != std::errc()) return "";
  return fmt::format("{}", text[0] == '-' ? -value : value);
}

}  // namespace

std::string normal_scalar(const std::string& text, bool quoted) {
  const std::string small = lower(text);
  const std::string whole = plain_integer(text);
  const auto number = parse_number(whole.empty() ? text : whole);
  std::string plain = text;
  if (number) {
    // -0 and 0 are one value.
    plain = fmt::format("{}", *number == 0 ? 0.0 : *number);
  } else if (small == "true" || small == "yes" || small == "on") {
    plain = "true";
  } else if (small == "false" || small == "no" || small == "off") {
    plain = "false";
  } else if (small.empty() || small == "~" || small == "null" || small == "none") {
    plain = "null";
  }
  if (quoted && plain != text) return "\"" + text + "\"";
  return quoted && number ? "\"" + text + "\"" : plain;
}

// "---" at the start of a line always begins a document and "..." ends one. YAML::LoadAll never
// ends on a text that begins with a comma (yaml-cpp 0.7).
bool holds_several_documents(const std::string& text) {
  bool content = false, ended = false;
  for (const std::string& line : split(text, '\n')) {
    const std::string mark = line.substr(0, 3);
    const bool is_mark =
        line.size() == mark.size() || line[3] == ' ' || line[3] == '\t' || line[3] == '\r';
    if (is_mark && mark == "---") {
      if (content) return true;
      content = true;
    } else if (is_mark && mark == "...") {
      ended = content;
    } else if (const std::string_view words = trim(line);
               !words.empty() && words[0] != '#' && words[0] != '%') {
      if (ended) return true;
      content = true;
    }
  }
  return false;
}

Result<Values> flatten_yaml(const std::string& text, const std::string& file) {
  try {
    const YAML::Node document = YAML::Load(text);
    if (document.IsNull()) return Error{ErrorKind::invalid, file + " is empty"};
    if (holds_several_documents(text)) {
      return Error{ErrorKind::invalid, file + " holds more than one YAML document"};
    }
    if (!document.IsMap()) {
      return Error{ErrorKind::invalid, file + " is not a mapping of keys to values"};
    }
    Flattener flat{file, {}, {}};
    flat.add("", document, 0);
    if (!flat.problem.empty()) return Error{ErrorKind::invalid, flat.problem};
    return std::move(flat.values);
  } catch (const YAML::Exception& error) {
    return Error{ErrorKind::invalid,
                 fmt::format("{}:{}: {}", file, error.mark.line + 1, error.msg)};
  }
}

Result<FlatConfig> read_flat_config(const std::string& path) {
  if (is_directory(path)) return Error{ErrorKind::invalid, path + " is a folder"};
  const auto text = OCRTUNE_TRY(read_file(path, kLargestFile));
  FlatConfig config{path, parent_path(path), {}, {}};
  const std::string name = lower(path);
  if (ends_with(name, ".py")) {
    return Error{ErrorKind::invalid,
                 path +
                     " is a Python program, which is not run here: give it as YAML or JSON "
                     "(OpenMMLab: Config.fromfile(FILE).dump(\"config.yaml\"))"};
  }
  const bool yaml = ends_with(name, ".yml") || ends_with(name, ".yaml") || ends_with(name, ".json");
  const std::string file = name.substr(name.find_last_of('/') + 1);
  const bool environment = starts_with(file, "env") || ends_with(file, ".env");
  if (!yaml) config.values = read_lines(text, environment);
  if (config.values.empty()) {
    if (text.find('\0') != std::string::npos) {
      return Error{ErrorKind::invalid, path + " is not text"};
    }
    config.values = OCRTUNE_TRY(flatten_yaml(text, path));
  }
  return config;
}

Result<std::vector<FlatConfig>> read_config_folder(const std::string& path) {
  const auto names = OCRTUNE_TRY(list_directory(path));
  std::vector<FlatConfig> nodes;
  for (const std::string& name : names) {
    const std::string folder = join_path(path, name);
    if (!is_directory(folder)) continue;
    const auto inner = OCRTUNE_TRY(list_directory(folder));
    FlatConfig node{name, folder, {}, read_contents(folder)};
    for (const std::string& file : config_files(folder, inner)) {
      auto config = OCRTUNE_TRY(read_flat_config(file));
      node.values.merge(config.values);
    }
    if (!node.values.empty()) nodes.push_back(std::move(node));
  }
  if (!nodes.empty()) return nodes;
  for (const std::string& file : config_files(path, names)) {
    auto config = OCRTUNE_TRY(read_flat_config(file));
    nodes.push_back(std::move(config));
  }
  if (nodes.empty()) {
    return Error{ErrorKind::missing, path + " holds no .yml, .yaml, .json, .env or versions.txt"};
  }
  return nodes;
}

}  // namespace ocrtune
