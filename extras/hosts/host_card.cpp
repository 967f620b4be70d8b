// A card is what probe says of a machine, plus what `check --collect` would collect, by way of a
// temporary folder so that both are one code.
#include "extras/hosts/host_card.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"
#include "extras/consistency/consistency.h"
#include "extras/consistency/node_collection.h"
#include "extras/hosts/agent_messages.h"
#include "probes/machine/machine_json.h"
#include "probes/probe.h"
#include "trial/ipc/json_fields.h"

namespace ocrtune {

OCRTUNE_FIELDS(Nic, name, address, prefix, mtu, speed_mbit, driver)

namespace {

using Json = nlohmann::json;

constexpr double kMeasureSeconds = 2.5;  // hosts are compared, not described

// As `check --collect` would put it into a shared folder.
Result<FlatConfig> collect_config(const CardRequest& request, std::vector<std::string>& notes) {
  const auto folder = OCRTUNE_TRY(make_temporary_directory("node"));
  NodeCollection node;
  node.directory = folder;
  node.host = "node";
  node.configs = request.configs;
  node.python = request.python;
  for (const auto& [name, value] : process_environment()) {
    // A rank in the environment of an agent is one that its launcher gave it.
    if (rule_for("env." + name).demand != Demand::different) node.environment[name] = value;
  }
  const auto collected = collect_node(node);
  auto nodes = read_config_folder(folder);
  [[maybe_unused]] const Status removed = remove_tree(folder);
  if (!collected) return collected.error();
  notes = collected->notes;
  if (!nodes && request.configs.empty()) return FlatConfig{};  // no variable, no package
  if (!nodes) return nodes.error();
  FlatConfig config = nodes->empty() ? FlatConfig{} : std::move(nodes->front());
  // What could not be read there is unknown, even if another host has a file of that name.
  for (const auto& [key, value] : config.values) {
    if (rule_for(key).demand == Demand::same_files) config.contents.emplace(value, "");
  }
  return config;
}

}  // namespace

Result<HostCard> read_host_card(const CardRequest& request) {
  HostCard card;
  ProbeOptions options;
  options.quick = request.quick;
  options.measure_seconds = kMeasureSeconds;
  card.machine = OCRTUNE_TRY(probe_machine(options));
  card.own_name = card.machine.host;
  // As Gloo and Paddle resolve it when they offer their address to others.
  card.own_address = resolve_names({card.own_name})[card.own_name];
  card.addresses = resolve_names(request.names);
  card.nics = read_nics();
  card.config = OCRTUNE_TRY(collect_config(request, card.notes));
  return card;
}

std::string card_request_json(const CardRequest& request) {
  return Json{{"ask", "card"},
              {"quick", request.quick},
              {"names", request.names},
              {"configs", request.configs},
              {"python", request.python}}
      .dump();
}

CardRequest parse_card_request(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  CardRequest request;
  request.quick = message_field(json, "quick", false);
  request.names = message_field(json, "names", request.names);
  request.configs = message_field(json, "configs", request.configs);
  request.python = message_field(json, "python", request.python);
  return request;
}

std::string host_card_json(const HostCard& card) {
  std::map<std::string, std::string> values, contents;
  for (const auto& [key, value] : card.config.values) values[valid_utf8(key)] = valid_utf8(value);
  for (const auto& [key, value] : card.config.contents) contents[valid_utf8(key)] = value;
  Json out = {{"own_name", valid_utf8(card.own_name)},
              {"own_address", card.own_address},
              {"addresses", card.addresses},
              {"interfaces", card.nics},
              {"values", values},
              {"contents", contents},
              {"notes", card.notes}};
  out["machine"] = Json::parse(machine_json(card.machine, -1));
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<HostCard> parse_host_card(const std::string& text) {
  HostCard card;
  try {
    const Json in = Json::parse(text);
    in.at("own_name").get_to(card.own_name);
    in.at("own_address").get_to(card.own_address);
    in.at("addresses").get_to(card.addresses);
    in.at("values").get_to(card.config.values);
    in.at("contents").get_to(card.config.contents);
    in.at("notes").get_to(card.notes);
    in.at("interfaces").get_to(card.nics);
    card.machine = OCRTUNE_TRY(parse_machine_json(in.at("machine").dump()));
  } catch (const std::exception& error) {
    return Error{ErrorKind::invalid, std::string("host card: ") + error.what()};
  }
  return card;
}

}  // namespace ocrtune
