// The texts within an answer: by their paths in JSON, or the whole of an answer that is no JSON.
//
// A path has the names of objects with dots between them; lists are passed through, so that
// "result.texts" names every text of every item. A name that is an id (digits, or eight and more
// hexadecimal digits) stands as "*".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ocrtune {

// An answer of these texts, as JSON: for programs that answer in lines. In it they stand at
// kTextPath.
std::string text_answer(const std::vector<std::string>& texts);
inline constexpr const char* kTextPath = "text";

struct AnswerField {
  std::string path;                // "" for an answer that is no JSON
  std::vector<std::string> texts;  // in the order of the answer
};

// What `same` names, whatever it is; without names every string but pictures in base64 and data
// URIs: numbers are places and scores, which may differ where the text does not. Sorted by path.
// Of an answer that begins with '<' (hOCR, XML) the text between the tags.
std::vector<AnswerField> answer_fields(std::string_view body, const std::vector<std::string>& same);

// A JSON answer's strings in their order, names included, each with its path where it is a value of
// interest and "" with `counts` false elsewhere: for a look that need not parse the next answer.
struct AnswerString {
  std::string path;
  bool counts = false;
};
std::vector<AnswerString> answer_strings(std::string_view body,
                                         const std::vector<std::string>& same);

// The bytes between the quotes of the JSON strings of `body`, as they stand, one after the other.
class RawStrings {
 public:
  explicit RawStrings(std::string_view body) : at_(body.data()), end_(body.data() + body.size()) {}
  bool next(std::string_view& text);  // false: there is no further one

 private:
  const char* at_;
  const char* end_;
};

// A number with or without unit, a time of day or a date, an id: what a program may print beside
// the text it has read.
bool looks_counted(std::string_view text);
bool looks_dated(std::string_view text);  // "2026-11-25T22:41..."

}  // namespace ocrtune
