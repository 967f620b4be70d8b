// Differences that break training in full, those that may be as names, and one sentence as the
// answer.
#include "extras/consistency/reports/consistency_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/plural.h"
#include "base/text.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::vector<ConfigDifference>& differences) {
  Json array = Json::array();
  for (const ConfigDifference& difference : differences) {
    Json values = Json::object();
    for (const auto& [node, value] : difference.values)
      values[valid_utf8(node)] = valid_utf8(value);
    array.push_back(
        {{"key", valid_utf8(difference.key)}, {"values", values}, {"effect", difference.effect}});
  }
  return array;
}

std::string text_of(const ConfigDifference& difference) {
  std::string text = difference.key + "\n";
  for (const auto& [node, value] : difference.values) {
    text += fmt::format("  {}: {}\n", node, value);
  }
  return text + "  effect: " + difference.effect + "\n";
}

}  // namespace

std::string consistency_text(const Consistency& consistency, std::size_t configs) {
  std::string text;
  for (const ConfigDifference& difference : consistency.differences)
    text += text_of(difference) + "\n";
  if (!consistency.local.empty()) {
    text += how_many(consistency.local.size(), "key") +
            (consistency.local.size() == 1 ? " differs and may: " : " differ and may: ");
    std::vector<std::string> keys;
    for (const ConfigDifference& difference : consistency.local) keys.push_back(difference.key);
    text += join(keys, ", ") + "\n";
  }
  for (const std::string& note : consistency.notes) text += "note: " + note + "\n";
  if (!consistency.consistent()) {
    const std::size_t found = consistency.differences.size();
    return text + fmt::format("INCONSISTENT: {} difference{} training.\n", found,
                              found == 1 ? " that breaks" : "s that break");
  }
  return text + "Consistent: " + how_many(configs, "configuration") + ".\n";
}

std::string consistency_json(const Consistency& consistency) {
  const Json document = {{"consistent", consistency.consistent()},
                         {"differences", json_of(consistency.differences)},
                         {"local", json_of(consistency.local)},
                         {"notes", consistency.notes}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ocrtune
