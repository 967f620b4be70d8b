// TomlReader has checked keys and types; here are the mistakes that would show only in a trial. A
// preset's own knob is a placeholder too, so all its sections are read first.
#include "trial/workloads/command/preset_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/process.h"
#include "base/text.h"
#include "trial/answers/answer_places.h"
#include "trial/knobs.h"
#include "trial/logs/log_dialects.h"
#include "trial/logs/log_reader.h"
#include "trial/workloads/command/command_template.h"

namespace ocrtune {
namespace {

using Node = toml::node_view<const toml::node>;

std::string text_of(const Node& at) { return at.value_or(std::string()); }

std::vector<std::string> known_placeholders(const toml::table& document) {
  std::vector<std::string> names = {"trial_dir", "port",        "global_batch", "gpus",
                                    "seed",      "gpu",         "copy",         "nodes",
                                    "node_rank", "master_addr", "master_port",  "hostlist",
                                    "rank_exec", "rate_factor"};
  for (const KnobRow& row : knob_table()) names.emplace_back(row.name);
  if (const toml::table* knobs = document["knobs"].as_table()) {
    for (const auto& [name, knob] : *knobs) names.emplace_back(name.str());
  }
  return names;
}

class PresetCheck {
 public:
  PresetCheck(TomlReader& reader, const toml::table& document)
      : reader_(reader), known_(known_placeholders(document)) {}

  void text(const Node& at, const std::string& key) {
    if (!at.is_string()) return;
    for (const std::string& name : placeholder_names(text_of(at))) {
      if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
      const std::string near = nearest_name(name, known_);
      reader_.wrong(
          *at.node(), key,
          fmt::format("there is no {{{}}}; {}", name,
                      near.empty() ? "a knob of your own needs its section, [knobs." + name + "]"
                                   : "did you mean {" + near + "}?"));
    }
  }

  // The texts of a table such as { "--jobs" = "{nproc}" }.
  void texts(const Node& at, const std::string& key) {
    if (!at.is_table()) return;
    for (const auto& [name, value] : *at.as_table()) {
      const std::string own(name.str());
      text(at[own], key + "." + own);
    }
  }

 private:
  TomlReader& reader_;
  std::vector<std::string> known_;
};

void check_reader(TomlReader& reader, const Node& read) {
  const std::string name = text_of(read["log_reader"]), metric = text_of(read["metric"]);
  const std::string kind = name.substr(0, name.find(':'));
  const bool takes_metric = name.empty() || kind == "metric" || kind == "json-lines" ||
                            (kind == "paddleocr" && metric == "ips");
  if (!metric.empty() && !takes_metric) {
    return reader.wrong(*read["metric"].node(), "read.metric",
                        fmt::format("log reader '{}' knows its number by itself; leave one of the "
                                    "two out",
                                    name));
  }
  const bool by_metric = !metric.empty() && kind != "paddleocr";
  if (name.empty() && !by_metric) return;
  const std::string prefix = kind == "json-lines" ? "json-lines:" : "metric:";
  // The reader is made for its errors alone.
  const auto made = make_log_reader(by_metric ? prefix + metric : name, LogContext());
  if (made) return;
  const char* key = by_metric ? "metric" : "log_reader";
  reader.wrong(*read[key].node(), std::string("read.") + key, made.error().what);
}

void check_knob(TomlReader& reader, const toml::table& table, const std::string& name) {
  const std::string key = "knobs." + name;
  const toml::array* values = table["values"].as_array();
  if (values != nullptr && values->size() == 1) {
    reader.wrong(*values, key + ".values",
                 "needs two values at least, such as [\"none\", \"fast\"]");
  }
  static const std::vector<std::string> kNeeds = {"gpus", "numa_nodes", "help"};
  if (const toml::array* needs = table["needs"].as_array()) {
    for (const toml::node& one : *needs) {
      const std::string need = one.value_or(std::string());
      const std::string near = nearest_name(need, kNeeds);
      // A program that is not installed here may be on another machine, so only a likely slip is
      // told.
      if (near.empty() || near == need || find_executable(need)) continue;
      reader.wrong(one, key + ".needs",
                   fmt::format("'{}' is no program here; did you mean {}?", need, near));
    }
  }
  if (find_knob(name) != nullptr || values != nullptr) return;
  std::vector<std::string> names;
  for (const KnobRow& row : knob_table()) names.emplace_back(row.name);
  const std::string near = nearest_name(name, names);
  if (near.empty()) return;
  reader.wrong(table, key,
               fmt::format("no knob of ocrtune's; did you mean {}? One of your own needs values, "
                           "such as values = [\"1\", \"2\"]",
                           near));
}

}  // namespace

void check_preset(TomlReader& reader, const toml::table& document) {
  PresetCheck check(reader, document);
  if (const toml::table* knobs = document["knobs"].as_table()) {
    for (const auto& [key, node] : *knobs) {
      const std::string name(key.str());
      if (node.as_table() == nullptr) continue;
      check_knob(reader, *node.as_table(), name);
      for (const char* part : {"flags", "environment"}) {
        check.texts(document["knobs"][name][part], "knobs." + name + "." + part);
      }
    }
  }
  for (const char* part : {"flags", "environment"}) {
    check.texts(document["trial"][part], std::string("trial.") + part);
  }
  check.texts(document["service"]["flags"], "service.flags");
  check.text(document["service"]["url"], "service.url");
  check.text(document["read"]["log_file"], "read.log_file");
  check_reader(reader, document["read"]);
  const toml::array* answers = document["read"]["answers"].as_array();
  for (std::size_t i = 0; answers != nullptr && i < answers->size(); ++i) {
    const auto place = (*answers)[i].value<std::string>();
    if (!place) continue;
    const auto parsed = AnswerPlaces::parse({*place});
    if (!parsed) reader.wrong((*answers)[i], "read.answers", parsed.error().what);
    if (parsed && !parsed->files.empty())
      check.text(document["read"]["answers"][i], "read.answers");
  }
}

}  // namespace ocrtune
