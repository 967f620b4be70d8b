// Fields are read leniently; only the keys that tell one document from another must be there.
// Documents of extras are asked first: each names keys that no other document has together.
#include "reports/html/page_documents.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "reports/catalogue/extra_reports.h"
#include "reports/html/document_fields.h"

namespace ocrtune {
namespace {

using Json = nlohmann::json;

std::vector<std::string> texts(const Json& at, const char* key) {
  std::vector<std::string> found;
  for (const Json& each : field_list(at, key)) {
    if (each.is_string()) found.push_back(each.get<std::string>());
  }
  return found;
}

LatencyDocument read_latency(const Json& in) {
  LatencyDocument out;
  out.answer = field_text(in, "answer");
  out.slo = field_text(in, "promise");
  out.slo_seconds = field_number(in, "promise_seconds");
  out.requests_per_second = field_number(in, "requests_per_second");
  out.alone_seconds = field_number(in, "alone_seconds");
  for (const Json& probe : field_list(in, "probes")) {
    out.points.push_back(
        {0, field_number(probe, "requests_per_second"), field_number(probe, "median_seconds"),
         field_number(probe, "p95_seconds"), field_number(probe, "p99_seconds"),
         field_number(probe, "latency_seconds"),
         static_cast<std::int64_t>(field_number(probe, "judged")),
         static_cast<std::int64_t>(field_number(probe, "over")), field_text(probe, "verdict")});
  }
  return out;
}

PeerDocument read_peers(const Json& in) {
  PeerDocument out{
      field_text(in, "verdict"), field_text(in, "sentence"), field_text(in, "proof"), {}};
  for (const Json& pair : field_list(in, "pairs")) {
    out.pairs.push_back({static_cast<int>(field_number(pair, "from")),
                         static_cast<int>(field_number(pair, "to")), field_text(pair, "verdict"),
                         texts(pair, "evidence")});
  }
  return out;
}

}  // namespace

Status add_document(const std::string& json, PageDocuments& documents) {
  const Json in = Json::parse(json, nullptr, false);
  if (!in.is_object()) return Error{ErrorKind::invalid, "not a JSON document"};
  std::vector<std::string> commands = {"slo"};
  for (const ExtraReports& extra : extra_reports()) {
    for (const DocumentRow& row : extra.documents) {
      commands.emplace_back(row.command);
      if (!std::ranges::all_of(row.keys, [&](const char* key) { return in.contains(key); }))
        continue;
      documents.extras += row.section(in);
      return {};
    }
  }
  if (in.contains("probes") && in.contains("promise")) {
    documents.latency = read_latency(in);
  } else if (in.contains("pairs") && in.contains("verdict")) {
    documents.peers = read_peers(in);
  } else {
    return Error{ErrorKind::invalid,
                 "not the --json output of ocrtune " + join(commands, ", ") + " or p2p"};
  }
  return {};
}

}  // namespace ocrtune
