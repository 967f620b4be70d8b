#include "reports/console/diagnosis_text.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "diagnosis/text_classifier.h"
#include "reports/catalogue/cause_words.h"
#include "reports/catalogue/phrases.h"
#include "reports/console/diagnosis_words.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxCauses = 4;  // in text; JSON has all
constexpr std::size_t kMaxConsequences = 3;
constexpr double kWorthTelling = 0.12;
constexpr double kLeads = 0.5;  // the first cause, with what follows from it named below

// The page's own words, in English and Chinese.
struct Words {
  const char *nothing, *unsure, *certain, *likely, *possible, *weak, *by_words, *seen, *confirm,
      *fix, *story, *settle, *means, *consequences, *notes, *above;
};
constexpr Words kEnglish = {"No sign of a failure in what was given.",
                            "No line is known to tell of a failure. By their words the lines "
                            "resemble logs of:",
                            "nearly certain",
                            "likely",
                            "possible",
                            "weak",
                            ", by its words alone",
                            "seen    ",
                            "confirm ",
                            "fix     ",
                            "What happened:",
                            "What would settle it:",
                            "means",
                            "Consequences, not causes:",
                            "Notes:",
                            "(above)"};
constexpr Words kChinese = {"所给内容中没有失败的迹象。",
                            "没有一行是已知的失败信息。按用词，这些日志与以下原因的日志相似：",
                            "几乎确定",
                            "很可能",
                            "可能",
                            "较弱",
                            "，仅据用词",
                            "依据    ",
                            "确认    ",
                            "解决    ",
                            "经过：",
                            "如何确定：",
                            "说明是",
                            "结果而非原因：",
                            "说明：",
                            "（见上）"};

const Words& words_of(bool chinese) { return chinese ? kChinese : kEnglish; }

const char* confidence_word(double confidence, const Words& words) {
  if (confidence >= 0.9) return words.certain;
  if (confidence >= 0.65) return words.likely;
  if (confidence >= 0.35) return words.possible;
  return words.weak;
}

// A suspect of diagnosis/text_classifier.h, not of a signature.
bool is_by_words(const Cause& cause) {
  return !cause.signatures.empty() && cause.signatures[0] == kTextSignature;
}

std::string place(const EvidenceLine& line) {
  return line.line > 0 ? fmt::format("{}:{}", line.file, line.line) : line.file;
}

// Lines that the page has quoted; each is quoted once and referred to afterwards.
using Quoted = std::set<std::string>;

std::string cause_text(const Cause& cause, std::size_t number, bool chinese, Quoted& quoted) {
  const Words& words = words_of(chinese);
  const auto say_it = [&](const std::string& text) { return chinese ? chinese_of(text) : text; };
  std::string text =
      fmt::format("{}. {}  ({}, {:.0f} %{})\n   {}\n", number, cause.row->name,
                  confidence_word(cause.confidence, words), 100 * cause.confidence,
                  is_by_words(cause) ? words.by_words : "", meaning_of(*cause.row, chinese));
  for (const EvidenceLine& line : cause.evidence) {
    const bool again = line.line > 0 && !quoted.insert(place(line)).second;
    text += again
                ? fmt::format("   {} {} {}\n", words.seen, place(line), words.above)
                : fmt::format("   {} {}: {}\n", words.seen, place(line), line.text.substr(0, 240));
  }
  text += fmt::format("   {} {}\n", words.confirm, say_it(cause.row->confirm));
  for (const std::string& fix : cause.fixes) {
    text += fmt::format("   {} {}\n", words.fix, say_it(fix));
  }
  return text;
}

std::string story_text(const Diagnosis& diagnosis, bool chinese) {
  if (diagnosis.story.empty()) return "";
  std::string text = std::string(words_of(chinese).story) + "\n";
  for (const StoryEvent& event : diagnosis.story) text += "   " + story_line(event, chinese) + "\n";
  return text;
}

std::string steps_text(const Diagnosis& diagnosis, bool chinese) {
  if (diagnosis.next_steps.empty()) return "";
  const Words& words = words_of(chinese);
  std::string text = fmt::format("\n{}\n", words.settle);
  for (const NextStep& step : diagnosis.next_steps) {
    const StepOutcomes outcomes = step_outcomes(step, chinese);
    text += fmt::format("   {}\n      {}: {} {}\n      {}: {} {}\n", step.command, outcomes.first,
                        words.means, step.first, outcomes.second, words.means, step.second);
  }
  return text;
}

Json story_json(const std::vector<StoryEvent>& story) {
  constexpr const char* kCodes[] = {"failed", "died",      "reported",  "busy",    "silent",
                                    "waited", "lost_peer", "never_met", "stopped", "ended"};
  Json array = Json::array();
  for (const StoryEvent& event : story) {
    Json object = {{"event", kCodes[static_cast<std::size_t>(event.code)]},
                   {"ranks", event.ranks},
                   {"file", valid_utf8(event.place)},
                   {"cause", event.cause},
                   {"text", event.text}};
    if (event.when) object["second_of_year"] = std::round(*event.when * 1000) / 1000;
    if (event.seconds) object["waited_seconds"] = *event.seconds;
    if (!event.raised_at.empty()) object["raised_at"] = event.raised_at;
    array.push_back(std::move(object));
  }
  return array;
}

Json steps_json(const std::vector<NextStep>& steps) {
  Json array = Json::array();
  for (const NextStep& step : steps) {
    const StepOutcomes outcomes = step_outcomes(step, false);
    array.push_back({{"between", {step.first, step.second}},
                     {"command", step.command},
                     {"outcomes", {{step.first, outcomes.first}, {step.second, outcomes.second}}}});
  }
  return array;
}

Json evidence_json_of(const std::vector<EvidenceLine>& lines) {
  Json array = Json::array();
  for (const EvidenceLine& line : lines) {
    array.push_back({{"file", valid_utf8(line.file)}, {"line", line.line}, {"text", line.text}});
  }
  return array;
}

}  // namespace

std::string diagnosis_text(const Diagnosis& diagnosis, const std::string& language) {
  const bool chinese = language == "zh";
  const Words& words = words_of(chinese);
  std::string text = story_text(diagnosis, chinese);
  const bool unsure = std::any_of(diagnosis.causes.begin(), diagnosis.causes.end(), is_by_words);
  if (!diagnosis.failed) text += std::string(unsure ? words.unsure : words.nothing) + "\n";
  std::size_t number = 0;
  Quoted quoted;
  std::vector<EvidenceLine> consequences;
  for (const Cause& cause : diagnosis.causes) {
    if (number == kMaxCauses || cause.confidence < kWorthTelling) continue;
    if (number > 0 && cause.follows && diagnosis.causes[0].confidence >= kLeads) {
      consequences.push_back(cause.evidence[0]);
      continue;
    }
    text += (text.empty() ? "" : "\n") + cause_text(cause, ++number, chinese, quoted);
  }
  text += steps_text(diagnosis, chinese);
  consequences.insert(consequences.end(), diagnosis.consequences.begin(),
                      diagnosis.consequences.end());
  std::size_t told = 0;
  for (const EvidenceLine& line : consequences) {
    if (told == kMaxConsequences) break;
    if (!quoted.insert(place(line)).second) continue;
    if (told++ == 0) text += fmt::format("\n{}\n", words.consequences);
    text += fmt::format("   {}: {}\n", place(line), line.text.substr(0, 160));
  }
  if (!diagnosis.notes.empty()) text += fmt::format("\n{}\n", words.notes);
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
                      {"fixes", cause.fixes},
                      {"remedy", remedy_name(cause.row->remedy)},
                      {"follows", cause.follows},
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
                         {"story", story_json(diagnosis.story)},
                         {"next_steps", steps_json(diagnosis.next_steps)},
                         {"consequences", evidence_json_of(diagnosis.consequences)},
                         {"notes", diagnosis.notes},
                         {"logs", files}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ocrtune
