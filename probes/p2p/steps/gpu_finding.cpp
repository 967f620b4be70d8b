// Lines are found by their mark and not by their place: NCCL prints on the same stream.
#include "probes/p2p/steps/gpu_finding.h"

#include <optional>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMark = "{\"ocrtune_gpu_finding\":";

std::optional<GpuFinding> parse(std::string_view line) {
  try {
    const Json body = Json::parse(line).at("ocrtune_gpu_finding");
    GpuFinding finding;
    body.at("what").get_to(finding.what);
    body.at("outcome").get_to(finding.outcome);
    finding.rank = body.value("rank", 0);
    finding.from = body.value("from", -1);
    finding.to = body.value("to", -1);
    finding.detail = body.value("detail", "");
    finding.figures = body.value("figures", finding.figures);
    finding.words = body.value("words", finding.words);
    return finding;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

double GpuFinding::figure(const std::string& name, double otherwise) const {
  const auto at = figures.find(name);
  return at == figures.end() ? otherwise : at->second;
}

std::string GpuFinding::word(const std::string& name) const {
  const auto at = words.find(name);
  return at == words.end() ? "" : at->second;
}

std::string gpu_finding_line(const GpuFinding& finding) {
  Json words = Json::object();
  for (const auto& [name, value] : finding.words) words[name] = valid_utf8(value);
  Json body = {{"what", finding.what},       {"outcome", finding.outcome},
               {"rank", finding.rank},       {"from", finding.from},
               {"to", finding.to},           {"detail", valid_utf8(finding.detail)},
               {"figures", finding.figures}, {"words", std::move(words)}};
  const Json line = {{"ocrtune_gpu_finding", std::move(body)}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<GpuFinding> find_gpu_findings(std::string_view output) {
  std::vector<GpuFinding> findings;
  for (std::size_t at = output.find(kMark); at != std::string_view::npos;
       at = output.find(kMark, at + 1)) {
    const std::size_t end = output.find('\n', at);
    // A last line without its end was cut as the process died.
    if (end == std::string_view::npos) break;
    auto finding = parse(output.substr(at, end - at));
    if (finding) findings.push_back(std::move(*finding));
  }
  return findings;
}

}  // namespace ocrtune
