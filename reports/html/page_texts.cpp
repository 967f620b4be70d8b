// Each example stands under what the present setting reads, with the characters that differ marked.
#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/html/page_sections.h"
#include "reports/markup/page_markup.h"
#include "reports/markup/svg.h"
#include "trial/answers/same_gate.h"

namespace ocrtune {
namespace {

// Both are guesses.
constexpr std::size_t kMaxSettings = 4;
constexpr int kMaxColumns = 300;  // of a text that is shown

bool within_character(const std::string& text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

// What lies between the beginning and the end that both share is marked.
std::string marked(const std::string& text, const std::string& other) {
  const std::size_t shorter = std::min(text.size(), other.size());
  std::size_t begin = 0;
  while (begin < shorter && text[begin] == other[begin]) ++begin;
  // Bytes are compared; both ends then go back to whole characters.
  while (begin > 0 && within_character(text, begin)) --begin;
  std::size_t end = 0;
  while (end < shorter - begin && text[text.size() - 1 - end] == other[other.size() - 1 - end]) {
    ++end;
  }
  while (end > 0 && within_character(text, text.size() - end)) --end;
  const std::string middle = text.substr(begin, text.size() - end - begin);
  return html_text(text.substr(0, begin)) +
         (middle.empty() ? "" : "<mark>" + html_text(middle) + "</mark>") +
         html_text(text.substr(text.size() - end));
}

std::string shown(const std::string& text) { return cut_to_width(plain_line(text), kMaxColumns); }

const char* heading_of_present(const SearchRequest& search) {
  if (!search.baseline_guessed()) return "Your setting reads";
  return search.baseline_source == kBaselineFirst ? "The first setting of your lists reads"
                                                  : "A plain start reads";
}

std::string setting_html(const SettingSummary& setting, const SearchRequest& search) {
  const SameJudgement& same = setting.same;
  std::vector<std::vector<std::string>> rows;
  for (const AnswerExample& example : same.examples) {
    const std::string expected = shown(example.expected), read = shown(example.read);
    rows.push_back({machine_text(shown(example.input)), "<bdi>" + marked(expected, read) + "</bdi>",
                    "<bdi>" + marked(read, expected) + "</bdi>"});
  }
  const std::string words =
      say("{} of {} inputs otherwise, {} of the characters",
          {fmt::format("{}", same.differing_inputs), fmt::format("{}", same.inputs),
           small_percent(same.changed_share)});
  const std::string line = fmt::format("<p>{}: {}</p>\n", knobs_html(setting.knobs), words);
  if (rows.empty()) return line;
  return line + table_html({"Input", heading_of_present(search), "It reads"}, rows);
}

}  // namespace

std::string texts_section(const RunRecord& run) {
  std::string settings;
  std::size_t count = 0;
  for (const SettingSummary& setting : run.result.settings) {
    if (!setting.same.compared || !setting.same.differs || count == kMaxSettings) continue;
    settings += setting_html(setting, run.search);
    ++count;
  }
  return settings.empty() ? "" : section_html("texts", "Settings that read another text", settings);
}

}  // namespace ocrtune
