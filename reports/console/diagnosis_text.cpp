// Text and JSON are made of one Diagnosis. Text shows the causes that tell the most, with short
// lines, and quotes each log line once; JSON has everything. Chinese comes from the catalogue.
#include "reports/console/diagnosis_text.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "reports/catalogue/cause_words.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/console/diagnosis_words.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxCauses = 4;  // in text; JSON has all
constexpr std::size_t kMaxConsequences = 3;
constexpr int kMaxEvidence = 240, kMaxAside = 160;  // columns of a line that is quoted
// Causes below this confidence are not shown. This value and the next are guesses.
constexpr double kWorthTelling = 0.12;
constexpr double kLeads = 0.5;  // the first cause, with what follows from it named below

// The page's own words, in English and Chinese.
struct Words {
  const char *nothing, *slower, *empty, *no_run, *independent, *certain, *likely, *possible, *weak,
      *seen, *who, *because, *confirm, *first, *fix, *not_worth, *story, *settle, *means,
      *consequences, *notes, *above, *alike, *suspect;
};
constexpr Words kEnglish = {
    "No failure found in what was given.",
    "Nothing failed; it is slower than it need be:",
    "Nothing to read: what was given is empty.",
    "This is not the log of a run: no step, no known program and no known message stands in it.",
    "Independent of one another; each percentage stands for itself.",
    "nearly certain",
    "likely",
    "possible",
    "weak",
    "seen    ",
    "who     ",
    "because ",
    "confirm ",
    "first   ",
    "fix     ",
    "not     ",
    "What happened:",
    "What would settle it:",
    "means",
    "Consequences, not causes:",
    "Notes:",
    "(above)",
    "{} such lines",
    "Seen, but nothing shows that the run ended of it: {} ({}, {:.0f} %)"};
constexpr Words kChinese = {"所给内容中没有发现失败。",
                            "没有失败，但比应有的慢：",
                            "没有可读的内容：所给文件是空的。",
                            "这不是一次运行的日志：其中没有步骤、没有已知程序，也没有已知信息。",
                            "以下原因彼此独立，各自的百分比不相加。",
                            "几乎确定",
                            "很可能",
                            "可能",
                            "较弱",
                            "依据    ",
                            "对象    ",
                            "因为    ",
                            "确认    ",
                            "先做    ",
                            "解决    ",
                            "不必    ",
                            "经过：",
                            "如何确定：",
                            "说明是",
                            "结果而非原因：",
                            "说明：",
                            "（见上）",
                            "共 {} 行",
                            "出现过，但没有迹象表明运行因此结束：{}（{}，{:.0f} %）"};

const Words& words_of(bool chinese) { return chinese ? kChinese : kEnglish; }

const char* confidence_word(double confidence, const Words& words) {
  // The bounds of the words are guesses.
  if (confidence >= 0.9) return words.certain;
  if (confidence >= 0.65) return words.likely;
  if (confidence >= 0.35) return words.possible;
  return words.weak;
}

std::string place(const EvidenceLine& line) {
  return line.line > 0 ? fmt::format("{}:{}", line.file, line.line) : line.file;
}

// Lines that the page has quoted; each is quoted once and referred to afterwards.
using Quoted = std::set<std::string>;

std::string evidence_text(const EvidenceLine& line, bool chinese, Quoted& quoted) {
  const Words& words = words_of(chinese);
  const auto say_it = [&](const std::string& text) { return chinese ? chinese_of(text) : text; };
  if (line.file == kReason) return fmt::format("   {} {}\n", words.because, say_it(line.text));
  if (line.line == 0) return fmt::format("   {} {}\n", words.seen, say_it(line.text));
  if (!quoted.insert(place(line)).second) {
    return fmt::format("   {} {} {}\n", words.seen, place(line), words.above);
  }
  std::string text =
      fmt::format("   {} {}: {}", words.seen, place(line), cut_to_width(line.text, kMaxEvidence));
  if (line.count > 1) {
    text += fmt::format("   ({})", fmt::format(fmt::runtime(words.alike), line.count));
  }
  if (!line.raised.place.empty()) text += fmt::format("   [{}]", line.raised.place);
  return text + "\n";
}

// "rank 2, GPU 0000:b1:00"
std::string who_text(const std::vector<Named>& who, bool chinese) {
  constexpr std::pair<const char*, const char*> kKinds[] = {
      {"process", "进程"},   {"worker", "工作进程"}, {"user", "用户"},      {"model", "模型"},
      {"container", "容器"}, {"host", "主机"},       {"interface", "网卡"}, {"file", "文件"}};
  std::string text;
  for (const Named& one : who) {
    std::string kind = one.kind;
    for (const auto& [english, own] : kKinds) {
      if (chinese && kind == english) kind = own;
    }
    text += (text.empty() ? "" : chinese ? "、" : ", ") + kind + " " + one.name;
  }
  return text;
}

std::string cause_text(const Cause& cause, std::size_t number, bool chinese, Quoted& quoted) {
  const Words& words = words_of(chinese);
  const auto say_it = [&](const std::string& text) { return chinese ? chinese_of(text) : text; };
  std::string text =
      fmt::format("{}. {}  ({}, {:.0f} %; {})\n   {}\n", number,
                  spoken_cause(cause.row->name, chinese), confidence_word(cause.confidence, words),
                  100 * cause.confidence, cause.row->name, meaning_of(*cause.row, chinese));
  for (const EvidenceLine& line : cause.evidence) text += evidence_text(line, chinese, quoted);
  if (!cause.who.empty())
    text += fmt::format("   {} {}\n", words.who, who_text(cause.who, chinese));
  text += fmt::format("   {} {}\n", words.confirm, say_it(cause.confirm));
  if (!cause.first.empty()) text += fmt::format("   {} {}\n", words.first, say_it(cause.first));
  for (const std::string& fix : cause.fixes) {
    text += fmt::format("   {} {}\n", words.fix, say_it(fix));
  }
  if (!cause.not_worth.empty()) {
    text += fmt::format("   {} {}\n", words.not_worth, say_it(cause.not_worth));
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
    text += fmt::format("   {0}\n      {2}{1} {3} {4}\n      {5}{1} {3} {6}\n",
                        chinese ? chinese_of(step.command) : step.command, chinese ? "：" : ":",
                        outcomes.first, words.means, spoken_cause(step.first, chinese),
                        outcomes.second, spoken_cause(step.second, chinese));
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
    array.push_back({{"file", valid_utf8(line.file)},
                     {"line", line.line},
                     {"text", line.text},
                     {"count", line.count},
                     {"raised_at", line.raised.place}});
  }
  return array;
}

Json who_json(const std::vector<Named>& who) {
  Json array = Json::array();
  for (const Named& one : who)
    array.push_back({{"kind", one.kind}, {"name", valid_utf8(one.name)}});
  return array;
}

}  // namespace

namespace {

const char* nothing_failed(const Diagnosis& diagnosis, const Words& words) {
  if (diagnosis.given == Given::nothing) return words.empty;
  if (diagnosis.given == Given::no_run) return words.no_run;
  // What slows it is no failure and yet the answer.
  const bool well = std::ranges::none_of(diagnosis.causes, [](const Cause& cause) {
    return cause.row->kind != CauseKind::failure && cause.confidence >= kLeads;
  });
  return well ? words.nothing : words.slower;
}

// Are two or more of the causes that the page shows independent failures?
bool are_independent(const std::vector<const Cause*>& shown) {
  return std::count_if(shown.begin(), shown.end(), [](const Cause* cause) {
           return cause->row->kind == CauseKind::failure && !cause->follows &&
                  cause->confidence >= kMinConfidence && cause->role != Role::generic;
         }) > 1;
}

// Of a failure that was not found: a line, without advice on what did not happen.
std::string suspect_text(const Cause& cause, bool chinese, Quoted& quoted) {
  if (cause.evidence.empty() || cause.evidence[0].line == 0) return "";
  const EvidenceLine& line = cause.evidence[0];
  quoted.insert(place(line));
  return fmt::format(fmt::runtime(words_of(chinese).suspect),
                     fmt::format("{}: {}", place(line), cut_to_width(line.text, kMaxAside)),
                     spoken_cause(cause.row->name, chinese), 100 * cause.confidence) +
         "\n";
}

std::string consequences_text(const std::vector<EvidenceLine>& lines, const Words& words,
                              Quoted& quoted) {
  std::string text;
  std::size_t told = 0;
  for (const EvidenceLine& line : lines) {
    if (told == kMaxConsequences) break;
    if (line.line == 0 || !quoted.insert(place(line)).second) continue;
    if (told++ == 0) text += fmt::format("\n{}\n", words.consequences);
    text += fmt::format("   {}: {}\n", place(line), cut_to_width(line.text, kMaxAside));
  }
  return text;
}

}  // namespace

std::string diagnosis_text(const Diagnosis& diagnosis, const std::string& language) {
  const bool chinese = language == "zh";
  const Words& words = words_of(chinese);
  std::string text = story_text(diagnosis, chinese);
  if (!diagnosis.failed) text += std::string(nothing_failed(diagnosis, words)) + "\n";
  std::vector<const Cause*> shown;
  std::vector<EvidenceLine> consequences;
  // The parts share this set and are called in the order of the page: the first quotes a line.
  Quoted quoted;
  bool suspected = false;
  for (const Cause& cause : diagnosis.causes) {
    if (shown.size() == kMaxCauses || cause.confidence < kWorthTelling) continue;
    if (!diagnosis.failed && cause.row->kind == CauseKind::failure) {
      // Where nothing failed one suspect is enough, the first.
      if (!std::exchange(suspected, true)) text += suspect_text(cause, chinese, quoted);
      continue;
    }
    // What only follows from a likely first cause is no cause of its own here; a kill that the
    // kernel proves stays one.
    if (!shown.empty() && cause.follows && cause.role != Role::proof &&
        diagnosis.causes[0].confidence >= kLeads) {
      consequences.push_back(cause.evidence[0]);
      continue;
    }
    shown.push_back(&cause);
  }
  if (are_independent(shown)) {
    text += (text.empty() ? "" : "\n") + std::string(words.independent) + "\n";
  }
  std::size_t number = 0;
  for (const Cause* cause : shown) {
    text += (text.empty() ? "" : "\n") + cause_text(*cause, ++number, chinese, quoted);
  }
  text += steps_text(diagnosis, chinese);
  consequences.insert(consequences.end(), diagnosis.consequences.begin(),
                      diagnosis.consequences.end());
  text += consequences_text(consequences, words, quoted);
  if (!diagnosis.notes.empty()) text += fmt::format("\n{}\n", words.notes);
  for (const std::string& note : diagnosis.notes) {
    text += "   " + (chinese ? chinese_of(note) : note) + "\n";
  }
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
                      {"who", who_json(cause.who)},
                      {"confirm", cause.confirm},
                      {"first", cause.first},
                      {"fixes", cause.fixes},
                      {"not_worth", cause.not_worth},
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
                     {"binary", log.kind == SourceKind::binary},
                     {"programs", program_names(log.programs)}});
  }
  constexpr const char* kGiven[] = {"run", "nothing", "no_run"};
  const Json document = {{"failed", diagnosis.failed},
                         {"given", kGiven[static_cast<std::size_t>(diagnosis.given)]},
                         {"causes", causes},
                         {"story", story_json(diagnosis.story)},
                         {"next_steps", steps_json(diagnosis.next_steps)},
                         {"consequences", evidence_json_of(diagnosis.consequences)},
                         {"notes", diagnosis.notes},
                         {"logs", files}};
  // Lines of logs may hold bytes that are not UTF-8; a strict dump() would throw on them.
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ocrtune
