#include "reports/html/page_documents.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "reports/catalogue/extra_reports.h"

namespace ocrtune {
namespace {

using Json = nlohmann::json;

double number(const Json& at, const char* key, double otherwise = 0) {
  const auto found = at.find(key);
  return found != at.end() && found->is_number() ? found->get<double>() : otherwise;
}

std::string text(const Json& at, const char* key) {
  const auto found = at.find(key);
  return found != at.end() && found->is_string() ? found->get<std::string>() : "";
}

Json part(const Json& at, const char* key) {
  const auto found = at.find(key);
  return found != at.end() && found->is_object() ? *found : Json::object();
}

std::vector<Json> list(const Json& at, const char* key) {
  const auto found = at.find(key);
  if (found == at.end() || !found->is_array()) return {};
  return {found->begin(), found->end()};
}

std::vector<std::string> texts(const Json& at, const char* key) {
  std::vector<std::string> found;
  for (const Json& each : list(at, key)) {
    if (each.is_string()) found.push_back(each.get<std::string>());
  }
  return found;
}

LatencyDocument read_latency(const Json& in) {
  LatencyDocument out;
  out.answer = text(in, "answer");
  out.slo = text(in, "promise");
  out.slo_seconds = number(in, "promise_seconds");
  out.requests_per_second = number(in, "requests_per_second");
  out.alone_seconds = number(in, "alone_seconds");
  for (const Json& probe : list(in, "probes")) {
    out.points.push_back(
        {0, number(probe, "requests_per_second"), number(probe, "median_seconds"),
         number(probe, "p95_seconds"), number(probe, "p99_seconds"),
         number(probe, "latency_seconds"), static_cast<std::int64_t>(number(probe, "judged")),
         static_cast<std::int64_t>(number(probe, "over")), text(probe, "verdict")});
  }
  return out;
}

PeerDocument read_peers(const Json& in) {
  PeerDocument out{text(in, "verdict"), text(in, "sentence"), text(in, "proof"), {}};
  for (const Json& pair : list(in, "pairs")) {
    out.pairs.push_back({static_cast<int>(number(pair, "from")),
                         static_cast<int>(number(pair, "to")), text(pair, "verdict"),
                         texts(pair, "evidence")});
  }
  return out;
}

HostsDocument read_hosts(const Json& in) {
  HostsDocument out;
  for (const Json& one : list(in, "speeds")) {
    out.speeds.push_back({text(one, "host"), number(one, "lines_per_second")});
  }
  for (const Json& link : list(in, "links")) {
    out.links.push_back({text(link, "from"), text(link, "to"), text(link, "network"),
                         text(link, "error"), number(link, "latency_seconds"),
                         number(link, "bytes_per_second")});
  }
  for (const Json& one : list(in, "findings")) {
    out.findings.emplace_back(text(one, "host"), text(one, "text"));
  }
  for (const Json& one : list(in, "lost")) {
    out.lost.emplace_back(text(one, "host"), text(one, "reason"));
  }
  const Json hosts = part(part(in, "recommended_network"), "env");
  for (const auto& [host, env] : hosts.items()) {
    out.env.emplace_back(host, HostsDocument::Named{});
    for (const auto& [name, value] : env.items()) {
      if (value.is_string()) out.env.back().second.emplace_back(name, value.get<std::string>());
    }
  }
  return out;
}

}  // namespace

Status add_document(const std::string& json, PageDocuments& documents) {
  const Json in = Json::parse(json, nullptr, false);
  if (!in.is_object()) return Error{ErrorKind::invalid, "not a JSON document"};
  std::vector<std::string> commands;
  for (const ExtraReports& extra : extra_reports()) {
    for (const DocumentRow& row : extra.documents) {
      commands.emplace_back(row.command);
      if (!std::ranges::all_of(row.keys, [&](const char* key) { return in.contains(key); }))
        continue;
      documents.extras += row.section(in);
      return {};
    }
  }
  commands.emplace_back("slo");
  if (in.contains("probes") && in.contains("promise")) {
    documents.latency = read_latency(in);
  } else if (in.contains("pairs") && in.contains("verdict")) {
    documents.peers = read_peers(in);
  } else if (in.contains("links") && in.contains("speeds")) {
    documents.hosts = read_hosts(in);
  } else {
    return Error{ErrorKind::invalid, "not the --json output of ocrtune " + join(commands, ", ") +
                                         ", p2p or probe --hosts"};
  }
  return {};
}

}  // namespace ocrtune
