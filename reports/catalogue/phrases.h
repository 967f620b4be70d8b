// The page's words in English and Chinese, from six tables (phrase_table.cpp, sentence_table.cpp,
// advice_table.cpp, machine_table.cpp, terminal_table.cpp, command_line_table.cpp) and those of
// the extras (extra_reports.h).
//
// Both languages stand in the page and the style sheet shows one, so that switching needs no
// network and the page can be read without script. A phrase may have holes (holes.h):
// "{} of {} {1:sample|samples}".
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ocrtune {

struct Phrase {
  std::string_view english;  // holes as {}, filled in order; {0:one|many} between them
  std::string_view chinese;  // holes as {}, or {0} {1} where the order differs
};

const std::vector<Phrase>& phrase_table();    // what the page itself says
const std::vector<Phrase>& sentence_table();  // what tuner/ composes, with holes for values
const std::vector<Phrase>& advice_table();    // what to do about causes of failure
const std::vector<Phrase>& machine_table();   // what probes/ and bench/ say of machine and failures
const std::vector<Phrase>& terminal_table();  // what a terminal shows beside the answer
const std::vector<Phrase>& command_line_table();  // init, doctor, verify; errors

// All of them, and those of the extras.
std::vector<const std::vector<Phrase>*> all_tables();

// Plain text in both languages; text without a language is the same in both.
struct Bilingual {
  std::string english, chinese;

  Bilingual(std::string text) : english(text), chinese(std::move(text)) {}  // NOLINT
  Bilingual(std::string in_english, std::string in_chinese)
      : english(std::move(in_english)), chinese(std::move(in_chinese)) {}
  Bilingual() = default;
};

// A phrase of the table with its holes filled; one that is not in the table is English in both.
Bilingual phrase(std::string_view english, const std::vector<Bilingual>& arguments = {});
std::string say_text(const Bilingual& text, const char* tag = "span");  // as HTML
Bilingual duration_text(double seconds);  // "1 min 51 s", "1 分 51 秒"

// Both languages as two elements of kind `tag` ("span"; "tspan" inside SVG). The phrase is escaped;
// the arguments are HTML already. A phrase that is not in the table is shown in English.
std::string say(std::string_view english, const std::vector<std::string>& html_arguments = {},
                const char* tag = "span");

// A sentence that a lower floor composed from measured numbers: found in the table by the fixed
// parts of a phrase, its holes translated in turn; a duration is one too. Plain text; unknown ones
// stay English.
std::string say_sentence(std::string_view sentence, const char* tag = "span");

// ` title="..." data-zh-title="..."`; the script swaps them with the language.
std::string say_attribute(const char* attribute, std::string_view english,
                          const std::vector<Bilingual>& plain_arguments = {});

// Both languages as two elements of kind `tag`, of HTML; one text where they are equal.
std::string both_languages(const char* tag, const std::string& english, const std::string& chinese);

// The Chinese of a composed sentence; the sentence itself when the table does not know it.
std::string chinese_of(std::string_view sentence);

}  // namespace ocrtune
