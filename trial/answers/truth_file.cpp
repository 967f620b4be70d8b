// Reads PaddleOCR's label files for the inputs of a run.
#include "trial/answers/truth_file.h"

#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

using Texts = std::vector<std::string>;

constexpr const char* kTranscription = "transcription";
constexpr const char* kNotCounted = "###";  // PaddleOCR's word for "do not care"

Texts label_texts(const std::string& label) {
  const auto json = nlohmann::json::parse(label, nullptr, false);
  // A text line that happens to begin with a bracket is no JSON list, and stays as it is.
  if (!json.is_array()) return {label};
  Texts texts;
  for (const auto& box : json) {
    // A list without transcriptions is a text line that reads as JSON.
    if (!box.is_object() || !box.contains(kTranscription)) return {label};
    const auto& text = box[kTranscription];
    if (text.is_string() && text != kNotCounted) texts.push_back(text.get<std::string>());
  }
  return texts;
}

}  // namespace

Result<std::vector<Texts>> read_truth(const std::string& path,
                                      const std::vector<std::string>& inputs) {
  const std::string text = OCRTUNE_TRY(read_file(path));
  // In an old encoding every character beyond ASCII would count as an error of the program.
  if (valid_utf8(text) != text) {
    return Error{ErrorKind::invalid, path + " is no UTF-8: convert it, as with iconv -t UTF-8"};
  }
  std::map<std::string, Texts> by_path;
  std::map<std::string, int> names;
  std::map<std::string, std::string> path_of;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) {
      return Error{ErrorKind::invalid,
                   fmt::format("{}:{}: needs a path, a tab and the text", path, number)};
    }
    const std::string named = line.substr(0, tab);
    by_path[named] = label_texts(std::string(trim(line.substr(tab + 1))));
    ++names[base_name(named)];
    path_of[base_name(named)] = named;
  }
  std::vector<Texts> truths;
  for (const std::string& input : inputs) {
    const std::string name = base_name(input);
    // A name that several lines have would take any of their texts.
    if (by_path.contains(input)) {
      truths.push_back(by_path[input]);
    } else if (names[name] == 1) {
      truths.push_back(by_path[path_of[name]]);
    } else {
      return Error{
          ErrorKind::invalid,
          path + (names[name] > 1 ? " names several files " : " has no line for ") + input};
    }
  }
  return truths;
}

}  // namespace ocrtune
