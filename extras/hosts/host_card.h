// What one host says of itself: the machine card, its network, names, variables and versions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "extras/consistency/flat_config.h"
#include "probes/host/nics.h"
#include "probes/machine/machine.h"

namespace ocrtune {

struct CardRequest {
  bool quick = false;                // as ProbeOptions::quick
  std::vector<std::string> names;    // hosts to be resolved there
  std::vector<std::string> configs;  // files of that host, for `check`
  std::string python = "python3";    // whose packages are listed
};

struct HostCard {
  std::string host;         // the name by which it was asked; not part of the JSON
  std::string own_name;     // that it calls itself
  std::string own_address;  // what that name resolves to there; "": nothing
  std::map<std::string, std::string> addresses;  // of the request's names, as resolved there
  Machine machine;
  std::vector<Nic> nics;
  FlatConfig config;  // variables, versions and configurations that training depends on
  std::vector<std::string> notes;  // what could not be read, each a sentence
};

// Of this machine. Errors: a configuration that cannot be read, and those of probe_machine().
Result<HostCard> read_host_card(const CardRequest& request);

std::string card_request_json(const CardRequest& request);
CardRequest parse_card_request(const std::string& text);
std::string host_card_json(const HostCard& card);
Result<HostCard> parse_host_card(const std::string& text);  // invalid: names the field

}  // namespace ocrtune
