#include "reports/console/diagnosis_page.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxCauses = 4;  // in text; JSON has all
constexpr std::size_t kMaxConsequences = 3;
constexpr double kWorthTelling = 0.12;

const char* confidence_word(double confidence) {
  if (confidence >= 0.9) return "nearly certain";
  if (confidence >= 0.65) return "likely";
  if (confidence >= 0.35) return "possible";
  return "weak";
}

std::string place(const EvidenceLine& line) {
  return line.line > 0 ? fmt::format("{}:{}", line.file, line.line) : line.file;
}

std::string cause_text(const Cause& cause, std::size_t number) {
  std::string text =
      fmt::format("{}. {}  ({}, {:.0f} %)\n   {}\n", number, cause.row->name,
                  confidence_word(cause.confidence), 100 * cause.confidence, cause.row->meaning);
  for (const EvidenceLine& line : cause.evidence) {
    text += fmt::format("   seen     {}: {}\n", place(line), line.text.substr(0, 240));
  }
  text += fmt::format("   confirm  {}\n", cause.row->confirm);
  for (const char* fix : cause.row->fixes) text += fmt::format("   fix      {}\n", fix);
  return text;
}

Json evidence_json_of(const std::vector<EvidenceLine>& lines) {
  Json array = Json::array();
  for (const EvidenceLine& line : lines) {
    array.push_back({{"file", valid_utf8(line.file)}, {"line", line.line}, {"text", line.text}});
  }
  return array;
}

}  // namespace

std::string diagnosis_text(const Diagnosis& diagnosis) {
  std::string text;
  if (!diagnosis.failed) text += "No sign of a failure in what was given.\n";
  std::size_t number = 0;
  for (const Cause& cause : diagnosis.causes) {
    if (number == kMaxCauses || cause.confidence < kWorthTelling) continue;
    text += (text.empty() ? "" : "\n") + cause_text(cause, ++number);
  }
  if (!diagnosis.consequences.empty()) {
    text += "\nConsequences, not causes:\n";
    for (std::size_t i = 0; i < std::min(kMaxConsequences, diagnosis.consequences.size()); ++i) {
      const EvidenceLine& line = diagnosis.consequences[i];
      text += fmt::format("   {}: {}\n", place(line), line.text.substr(0, 160));
    }
  }
  if (!diagnosis.notes.empty()) text += "\nNotes:\n";
  for (const std::string& note : diagnosis.notes) text += "   " + note + "\n";
  return text;
}

std::string diagnosis_json(const Diagnosis& diagnosis, const std::vector<LogScan>& logs) {
  Json causes = Json::array();
  for (const Cause& cause : diagnosis.causes) {
    causes.push_back({{"cause", cause.row->name},
                      {"kind", cause.row->kind == CauseKind::failure ? "failure" : "slowness"},
                      {"confidence", std::round(cause.confidence * 1000) / 1000},
                      {"meaning", cause.row->meaning},
                      {"outcome", cause.row->outcome},
                      {"evidence", evidence_json_of(cause.evidence)},
                      {"confirm", cause.row->confirm},
                      {"fixes", cause.row->fixes},
                      {"remedy", remedy_name(cause.row->remedy)},
                      {"signatures", cause.signatures}});
  }
  Json files = Json::array();
  for (const LogScan& log : logs) {
    files.push_back({{"file", valid_utf8(log.file)},
                     {"lines", log.lines},
                     {"bytes", log.bytes},
                     {"progress_lines", log.progress_lines},
                     {"binary", log.binary}});
  }
  const Json document = {{"failed", diagnosis.failed},
                         {"causes", causes},
                         {"consequences", evidence_json_of(diagnosis.consequences)},
                         {"notes", diagnosis.notes},
                         {"logs", files}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string cause_list() {
  std::string text;
  for (const CauseRow& row : cause_table()) {
    text += fmt::format("{:<26} {:<9} {}\n", row.name,
                        row.kind == CauseKind::failure ? "failure" : "slowness", row.meaning);
  }
  return text;
}

std::string signature_list() {
  std::string text;
  for (const SignatureRow& row : signature_table()) {
    text += fmt::format("{:<28} {:<26} {:<11} {:.2f}  {}\n", row.id, row.cause, role_name(row.role),
                        row.weight, row.pattern);
  }
  return text;
}

}  // namespace ocrtune
