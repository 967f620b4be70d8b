#include "probes/p2p_json.h"

#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

Json list(const std::vector<std::string>& texts) {
  Json out = Json::array();
  for (const std::string& text : texts) out.push_back(valid_utf8(text));
  return out;
}

}  // namespace

std::string p2p_json(const P2pVerdict& verdict, const std::string& state, int indent) {
  Json env = Json::object();
  for (const auto& [name, value] : verdict.env) env[name] = value;
  Json pairs = Json::array();
  for (const P2pPairVerdict& pair : verdict.pairs) {
    pairs.push_back({{"from", pair.from},
                     {"to", pair.to},
                     {"verdict", p2p_class_name(pair.verdict)},
                     {"evidence", list(pair.evidence)},
                     {"not_checked", list(pair.not_checked)}});
  }
  const Json out = {{"gpu_state", valid_utf8(state)},
                    {"verdict", p2p_class_name(verdict.verdict)},
                    {"sentence", valid_utf8(verdict.sentence)},
                    {"confidence", verdict.confidence},
                    {"env", std::move(env)},
                    {"proof", valid_utf8(verdict.proof)},
                    {"pairs", std::move(pairs)},
                    {"evidence", list(verdict.evidence)},
                    {"not_checked", list(verdict.not_checked)},
                    {"hints", list(verdict.hints)}};
  return out.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ocrtune
