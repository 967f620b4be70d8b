// Reads the texts that a command prints or writes.
#include "trial/answers/answer_places.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include "base/files.h"
#include "base/text.h"
#include "trial/answers/answer_fields.h"
#include "trial/ipc/copy_mark.h"
#include "trial/logs/log_text.h"
#include "trial/logs/named_pattern.h"

namespace ocrtune {
namespace {

// Bounds of memory, all three guesses: a command may print or write without end.
constexpr std::size_t kMaxInputs = 20'000;
constexpr std::uint64_t kMaxFileBytes = 64 << 20;  // of one answer
constexpr std::size_t kMaxLineBytes = 65'536;      // of a line, that are matched

bool matches(const re2::RE2& pattern, const std::string& line) {
  return RE2::PartialMatch(re2::StringPiece(line.data(), std::min(line.size(), kMaxLineBytes)),
                           pattern);
}

struct Matched {
  bool any = false;
  std::optional<std::string> input, text;  // unset: the group took no part
};

// The first match from `begin`, which moves behind it.
// Several texts of one line are found one after the other.
Matched match(const AnswerPlaces::Pattern& pattern, const std::string& line, std::size_t& begin) {
  const re2::StringPiece text(line.data(), std::min(line.size(), kMaxLineBytes));
  std::vector<re2::StringPiece> groups(
      static_cast<std::size_t>(pattern.compiled->NumberOfCapturingGroups()) + 1);
  Matched matched;
  matched.any = begin < text.size() &&
                pattern.compiled->Match(text, begin, text.size(), RE2::UNANCHORED, groups.data(),
                                        static_cast<int>(groups.size()));
  if (!matched.any) return matched;
  const auto end = static_cast<std::size_t>(groups[0].end() - text.begin());
  // A pattern may match an empty text: one character further at least, or the loop never ends.
  begin = std::max(begin + 1, end);
  const auto take = [&](int number, std::optional<std::string>& value) {
    const re2::StringPiece& piece = groups[static_cast<std::size_t>(number)];
    if (number > 0 && piece.data() != nullptr) value.emplace(piece.data(), piece.size());
  };
  take(pattern.input, matched.input);
  take(pattern.text, matched.text);
  return matched;
}

struct WrittenFile {
  std::string path, name;
};

// Files that match and were last changed between these: those of earlier trials and of other
// programs stay out. The name is the file's own where the pattern leaves it open; where each folder
// has a file of one name it is the path below the folders that the pattern names. It goes by the
// pattern alone, for a trial may end before all files are there.
std::vector<WrittenFile> written_files(const std::string& pattern, double begin, double end) {
  constexpr const char* kWildcards = "*?[";
  std::vector<WrittenFile> files;
  const bool names_differ = base_name(pattern).find_first_of(kWildcards) != std::string::npos;
  const std::size_t fixed = 1 + pattern.rfind('/', pattern.find_first_of(kWildcards));
  glob_t found{};
  const bool any = ::glob(pattern.c_str(), 0, nullptr, &found) == 0;
  for (std::size_t i = 0; any && i < found.gl_pathc; ++i) {
    const std::string path = found.gl_pathv[i];
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    if (changed_seconds(facts) < begin || changed_seconds(facts) > end) continue;
    files.push_back({path, names_differ ? base_name(path) : path.substr(fixed)});
  }
  ::globfree(&found);
  return files;
}

}  // namespace

Result<AnswerPlaces> AnswerPlaces::parse(const std::vector<std::string>& places) {
  AnswerPlaces parsed;
  for (const std::string& place : places) {
    if (place == "lines") {
      parsed.lines = true;
    } else if (starts_with(place, "not:")) {
      parsed.ignored.push_back(OCRTUNE_TRY(compile_named(place.substr(4))));
    } else if (starts_with(place, "regex:")) {
      Pattern pattern;
      pattern.compiled = OCRTUNE_TRY(compile_named(place.substr(6)));
      const auto& groups = pattern.compiled->NamedCapturingGroups();
      if (groups.contains("input")) pattern.input = groups.at("input");
      if (groups.contains("text")) pattern.text = groups.at("text");
      if (pattern.input + pattern.text == 0) {
        return Error{ErrorKind::usage,
                     fmt::format("answers: '{}' names no text; write a group such as (?<text>.*), "
                                 "and (?<input>...) where the line names the input",
                                 place)};
      }
      parsed.patterns.push_back(std::move(pattern));
    } else {
      // The last '#', so that a folder's name may hold one.
      const std::size_t mark = place.rfind('#');
      parsed.files.push_back(place.substr(0, mark));
      if (mark != std::string::npos) parsed.same.push_back(place.substr(mark + 1));
    }
  }
  return parsed;
}

void AnswerPlaces::part_lines() {
  // What is left may still name input and text in one line.
  std::erase_if(patterns, [](const Pattern& pattern) { return pattern.text == 0; });
}

void AnswerCollector::add(const std::string& input, std::string body) {
  const auto [at, fresh] = index_.try_emplace(input, answers_.inputs.size());
  if (fresh && answers_.inputs.size() >= kMaxInputs) {
    // The entry was made by try_emplace() and goes again, so that the map stays bounded.
    index_.erase(at);
    return;
  }
  if (fresh) {
    answers_.inputs.push_back(input);
    answers_.bodies.emplace_back();
  }
  if (answers_.bodies[at->second].size() < kKeptAnswers) {
    answers_.bodies[at->second].push_back(std::move(body));
  }
}

// The answer is whole.
void AnswerCollector::flush(Gathering& gathering) {
  if (gathering.open) add(gathering.input, text_answer(gathering.texts));
  gathering = {};
}

void AnswerCollector::keep(const std::string& text) {
  if (trim(text).empty() || lines_ >= kMaxInputs) return;
  ++lines_;
  answers_.passes.back().push_back(valid_utf8(std::string(trim(text))));
}

void AnswerCollector::take(Gathering& gathering, const std::optional<std::string>& input,
                           const std::optional<std::string>& text) {
  auto& texts = gathering.texts;
  // The same input with another text goes on; with its first one it is asked again.
  const bool on = gathering.open && input && text && *input == gathering.input && !texts.empty() &&
                  texts[0] != *text;
  if (input && !on) {
    flush(gathering);
    gathering.input = *input;
    gathering.open = true;
  }
  if (text && gathering.open) texts.push_back(*text);
  if (text && !gathering.open) keep(*text);
}

void AnswerCollector::read_line(const std::string& printed) {
  // Escape sequences and blanks are normalised, but a tab stays.
  const std::string line = plain_line(printed, '\t');  // which part names from texts
  const bool ignored = std::any_of(places_.ignored.begin(), places_.ignored.end(),
                                   [&](const auto& pattern) { return matches(*pattern, line); });
  if (ignored) return;
  if (answers_.passes.empty()) answers_.passes.emplace_back();
  // Without a mark there is one copy, and all lines are gathered together.
  Gathering& gathering = gatherings_[marked_copy(printed).value_or(0)];
  for (const AnswerPlaces::Pattern& pattern : places_.patterns) {
    std::size_t begin = 0;
    for (Matched found = match(pattern, line, begin); found.any;
         found = match(pattern, line, begin)) {
      take(gathering, found.input, found.text);
    }
  }
  if (places_.lines) keep(line);
}

void AnswerCollector::end_run() {
  // All copies share one end: a copy's last answer is whole when the command has ended.
  for (auto& [copy, gathering] : gatherings_) flush(gathering);
  ++answers_.runs_ended;
  answers_.passes.emplace_back();
}

void AnswerCollector::read_files(const std::vector<std::string>& patterns, double begin,
                                 double end) {
  for (const std::string& pattern : patterns) {
    for (const auto& [path, name] : written_files(pattern, begin, end)) {
      const auto text = read_file(path, kMaxFileBytes);
      // A file of that length was cut by read_file(), and half an answer would differ.
      if (!text || text->size() == kMaxFileBytes) continue;
      const bool json = nlohmann::json::parse(*text, nullptr, false).is_structured();
      answers_.json = answers_.json || json;
      add(name, json ? *text : text_answer(split(*text, '\n')));
    }
  }
}

// What a command that was ended had begun to print is no answer.
CommandAnswers AnswerCollector::take() { return std::move(answers_); }

}  // namespace ocrtune
