// A phrase is found by its whole English text. A sentence that a lower floor composed is matched
// with the rows that have holes: their fixed parts must stand in it, one after the other.
#include "reports/catalogue/phrases.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/extra_reports.h"
#include "reports/catalogue/holes.h"
#include "reports/catalogue/plain_text.h"

namespace ocrtune {
namespace {

const Phrase* find_phrase(std::string_view english) {
  static const auto kIndex = [] {
    std::unordered_map<std::string_view, const Phrase*> index;
    for (const auto* table : all_tables()) {
      // emplace() keeps the first of two rows with equal English.
      for (const Phrase& phrase : *table) index.emplace(phrase.english, &phrase);
    }
    return index;
  }();
  const auto found = kIndex.find(english);
  return found == kIndex.end() ? nullptr : found->second;
}

// Puts the arguments into the holes (holes.h), and the words that they choose.
std::string fill(std::string_view phrase, const std::vector<std::string>& arguments) {
  std::string out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < phrase.size(); ++i) {
    const std::size_t close = phrase[i] == '{' ? phrase.find('}', i) : std::string_view::npos;
    if (close == std::string_view::npos) {
      out += phrase[i];
      continue;
    }
    const Hole hole = read_hole(phrase.substr(i + 1, close - i - 1), next);
    const std::string_view argument =
        hole.argument < arguments.size() ? std::string_view(arguments[hole.argument]) : "";
    if (hole.chooses()) {
      out += argument == "1" ? hole.one : hole.many;
    } else {
      out += argument;
    }
    i = close;
  }
  return out;
}

// A row as sentences have it: a pattern for each choice of its words, with holes for values only.
struct Pattern {
  std::string english;
  std::string_view chinese;
};

void add_patterns(std::string english, std::string_view chinese, std::vector<Pattern>& patterns) {
  for (std::size_t open = english.find('{'); open != std::string::npos;
       open = english.find('{', open + 1)) {
    const std::size_t close = english.find('}', open);
    std::size_t next = 0;
    const std::string words = english.substr(open + 1, close - open - 1);
    const Hole hole = read_hole(words, next);
    if (!hole.chooses()) continue;
    for (const std::string_view word : {hole.one, hole.many}) {
      std::string chosen = english;
      add_patterns(chosen.replace(open, close - open + 1, word), chinese, patterns);
    }
    return;
  }
  patterns.push_back({std::move(english), chinese});
}

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> kPatterns = [] {
    std::vector<Pattern> found;
    // Sentences of other floors stand in these four; the other tables hold words of the page and of
    // the terminal.
    for (const auto* table :
         {&sentence_table(), &advice_table(), &machine_table(), &command_line_table()}) {
      for (const Phrase& row : *table) {
        if (row.english.find("{}") == std::string_view::npos) continue;
        add_patterns(std::string(row.english), row.chinese, found);
      }
    }
    return found;
  }();
  return kPatterns;
}

// What stands in the holes of `phrase` when it is `sentence`; nothing when it is not.
std::optional<std::vector<std::string>> match(std::string_view phrase, std::string_view sentence) {
  std::vector<std::string> holes;
  std::size_t hole = phrase.find("{}");
  if (sentence.substr(0, hole) != phrase.substr(0, hole)) return std::nullopt;
  if (hole == std::string_view::npos) {
    return sentence == phrase ? std::optional(holes) : std::nullopt;
  }
  std::string_view left = sentence.substr(hole);
  while (hole != std::string_view::npos) {
    phrase.remove_prefix(hole + 2);
    hole = phrase.find("{}");
    const std::string_view fixed = phrase.substr(0, hole);
    // A hole ends where the next fixed part first stands. The last part is sought from the end, so
    // that the last hole may hold its text.
    const std::size_t at = hole != std::string_view::npos ? left.find(fixed)
                           : fixed.empty()                ? left.size()
                           : left.size() < fixed.size()   ? std::string_view::npos
                                                          : left.rfind(fixed);
    // An empty hole is no match.
    if (at == std::string_view::npos || at == 0) return std::nullopt;
    holes.emplace_back(left.substr(0, at));
    left.remove_prefix(at + fixed.size());
  }
  return left.empty() ? std::optional(holes) : std::nullopt;
}

// "1 min 51 s" as format_duration() writes it -> "1 分 51 秒"; empty: no duration.
std::string chinese_duration(std::string_view text) {
  constexpr std::pair<std::string_view, const char*> kUnits[] = {
      {"d", "天"}, {"h", "小时"}, {"min", "分"}, {"s", "秒"}, {"ms", "毫秒"}, {"us", "微秒"}};
  const std::vector<std::string> parts = words(text);
  if (parts.size() != 2 && parts.size() != 4) return "";
  std::vector<std::string> chinese;
  for (std::size_t i = 0; i < parts.size(); i += 2) {
    const auto* unit = std::find_if(std::begin(kUnits), std::end(kUnits),
                                    [&](const auto& row) { return row.first == parts[i + 1]; });
    if (unit == std::end(kUnits) || !parse_number(parts[i])) return "";
    chinese.insert(chinese.end(), {parts[i], unit->second});
  }
  return join(chinese, " ");
}

std::string chinese_of_depth(std::string_view sentence, int depth);

// "2 CPUs; no GPU": what is joined by semicolons, if each clause has its Chinese; else empty.
std::string chinese_clauses(std::string_view sentence, int depth) {
  constexpr std::string_view kBetween = "; ";
  std::string chinese;
  for (std::string_view left = sentence;;) {
    const std::size_t end = left.find(kBetween);
    if (end == std::string_view::npos && left.size() == sentence.size()) return "";
    const std::string_view clause = left.substr(0, end);
    const std::string known = chinese_of_depth(clause, depth + 1);
    if (known == clause) return "";
    chinese += known;
    if (end == std::string_view::npos) return chinese;
    chinese += "；";
    left.remove_prefix(end + kBetween.size());
  }
}

std::string chinese_of_depth(std::string_view sentence, int depth) {
  if (const Phrase* phrase = find_phrase(sentence)) return std::string(phrase->chinese);
  if (std::string duration = chinese_duration(sentence); !duration.empty()) return duration;
  // Holes are translated in turn; the limit of the depth is a guess.
  if (depth > 3) return std::string(sentence);
  // Clauses come before patterns, whose holes would take in a semicolon and the clause behind it.
  if (std::string clauses = chinese_clauses(sentence, depth); !clauses.empty()) return clauses;
  for (const Pattern& pattern : patterns()) {
    auto holes = match(pattern.english, sentence);
    if (!holes) continue;
    for (std::string& hole : *holes) hole = chinese_of_depth(hole, depth + 1);
    return fill(pattern.chinese, *holes);
  }
  return std::string(sentence);
}

}  // namespace

std::vector<const std::vector<Phrase>*> all_tables() {
  std::vector<const std::vector<Phrase>*> tables = {&phrase_table(),   &sentence_table(),
                                                    &advice_table(),   &machine_table(),
                                                    &terminal_table(), &command_line_table()};
  for (const ExtraReports& extra : extra_reports()) {
    if (extra.phrases != nullptr) tables.push_back(&extra.phrases());
  }
  return tables;
}

std::string both_languages(const char* tag, const std::string& english,
                           const std::string& chinese) {
  if (english == chinese) return english;
  return fmt::format("<{0} lang=\"en\">{1}</{0}><{0} lang=\"zh\">{2}</{0}>", tag, english, chinese);
}

std::string say(std::string_view english, const std::vector<std::string>& html_arguments,
                const char* tag) {
  const Phrase* phrase = find_phrase(english);
  const std::string first = fill(html_text(english), html_arguments);
  if (phrase == nullptr) return first;
  return both_languages(tag, first, fill(html_text(phrase->chinese), html_arguments));
}

Bilingual phrase(std::string_view english, const std::vector<Bilingual>& arguments) {
  const Phrase* row = find_phrase(english);
  std::vector<std::string> first, second;
  for (const Bilingual& argument : arguments) {
    first.push_back(argument.english);
    second.push_back(argument.chinese);
  }
  return {fill(english, first), fill(row == nullptr ? english : row->chinese, second)};
}

std::string say_text(const Bilingual& text, const char* tag) {
  return both_languages(tag, html_text(plain_line(text.english)),
                        html_text(plain_line(text.chinese)));
}

Bilingual duration_text(double seconds) {
  const std::string english = format_duration(seconds);
  return {english, chinese_of(english)};
}

std::string chinese_of(std::string_view sentence) { return chinese_of_depth(sentence, 0); }

std::string say_sentence(std::string_view sentence, const char* tag) {
  return both_languages(tag, html_text(sentence), html_text(chinese_of(sentence)));
}

std::string say_attribute(const char* attribute, std::string_view english,
                          const std::vector<Bilingual>& plain_arguments) {
  const bool known = find_phrase(english) != nullptr;
  const Bilingual text = known ? phrase(english, plain_arguments)
                               : Bilingual{std::string(english), chinese_of(english)};
  std::string out = fmt::format(" {}=\"{}\"", attribute, html_text(text.english));
  if (known || text.chinese != text.english) {
    out += fmt::format(" data-zh-{}=\"{}\"", attribute, html_text(text.chinese));
  }
  return out;
}

}  // namespace ocrtune
