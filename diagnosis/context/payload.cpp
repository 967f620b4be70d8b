// Payload is blanked by dots of the same length, so that all positions of the line stay. Values of
// keys go first, then lists, then patterns of whole lines; quotations only where the line's level
// says that nothing failed.
#include "diagnosis/context/payload.h"

#include <algorithm>
#include <cctype>

#include <re2/re2.h>

#include "base/text.h"

namespace ocrtune {
namespace {

re2::RE2::Options bytes() {
  re2::RE2::Options options;
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  return options;
}

// Keys of what was read, and of what may carry it.
constexpr const char* kReadKeys =
    "ocr[ _](?:text|result|output)s?|results?|pred(?:iction|icted)?s?|gts?|"
    "ground[ _-]?truth|targets?|labels?|references?|hyp(?:othesis)?|"
    "transcri(?:pt|pts|ption|ptions|bed)|recogni[sz]ed(?:[ _]text)?|rec_(?:text|texts|res)|"
    "decoded|captions?|answers?|(?:\\w+_)?texts?|识别结果|识别文本|识别|预测结果|预测|真值|标签|"
    "文本|结果|内容|titles?|headings?|previews?|snippets?|excerpts?|first(?:[ _]line)?";
constexpr const char* kCarryingKeys =
    "contents?|outputs?|responses?|reply|completions?|prompts?|query|question|body|values?|"
    "markdown|html|words?|lines?|inputs?";
// Keys under which a structured log tells of itself. Every other key of one names what it carries.
constexpr const char* kOwnKeys =
    R"((?i)[\w.-]*(?:msg|message|events?|err|errors?|exceptions?|exc|exc_?info|trace(?:back)?|stack|reasons?|details?|desc(?:ription)?|log|stderr|stdout|status|state|warnings?|failure|cause|command|cmd|args|argv))";

// A key and how its value begins; of any key only where a quotation follows as in JSON and logfmt.
const re2::RE2& keyed_value() {
  static const re2::RE2 kPattern(std::string("(?i)(?:^|[\\s,;{(\\[\"'|])(?:(?:(") + kReadKeys +
                                     ")|(" + kCarryingKeys +
                                     "))(?:_\\d+|\\[\\d{1,2}\\])?[\"']?\\s*(?:=>|->|=|:|：)\\s*|"
                                     "([\\w.-]+)(?:[\"']\\s*:\\s*|=)\\[?[\"'])",
                                 bytes());
  return kPattern;
}

bool is_own_key(const re2::StringPiece& key) {
  static const re2::RE2 kPattern(kOwnKeys, bytes());
  return re2::RE2::FullMatch(key, kPattern);
}

struct Quote {
  std::string_view open, close;
};
constexpr Quote kQuotes[] = {{"\"", "\""}, {"'", "'"}, {"“", "”"}, {"「", "」"}, {"『", "』"}};

// Where the quotation that begins here ends, behind its closing quote; 0: none begins, or it does
// not end. A backslash hides a quote, and an apostrophe before a letter or a tag ends nothing.
std::size_t quotation(std::string_view text) {
  for (const Quote& quote : kQuotes) {
    if (!starts_with(text, quote.open)) continue;
    for (std::size_t i = quote.open.size(); i < text.size(); ++i) {
      if (text[i] == '\\') {
        ++i;
      } else if (starts_with(text.substr(i), quote.close)) {
        const std::size_t end = i + quote.close.size();
        const unsigned char next = end < text.size() ? static_cast<unsigned char>(text[end]) : 0;
        if (quote.close != "'" || !(std::isalnum(next) != 0 || next == '<')) return end;
      }
    }
    return text.size();  // cut off
  }
  return 0;
}

// Where the list, tuple or object that begins here ends.
std::size_t bracketed(std::string_view text) {
  if (text.empty() || std::string_view("[({").find(text[0]) == std::string_view::npos) return 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t end = quotation(text.substr(i)); end > 0 && depth > 0) {
      i += end;
      continue;
    }
    if (std::string_view("[({").find(text[i]) != std::string_view::npos) depth += 1;
    if (std::string_view("])}").find(text[i]) != std::string_view::npos) depth -= 1;
    ++i;
    if (depth == 0) return i;
  }
  return text.size();
}

// "oom-kill", "exit-code": one word is a state, not something read.
bool is_several_words(std::string_view text) {
  text = trim(text);
  return text.find(' ') != std::string_view::npos ||
         std::ranges::any_of(text, [](char c) { return (c & 0x80) != 0; });
}

bool is_error_line(std::string_view line) {
  static const re2::RE2 kError(
      R"((?:^|[\s\[|(:])(?:ERROR|FATAL|CRITICAL|SEVERE|Error|Exception|Traceback)\b|\w(?:Error|Exception)\b)",
      bytes());
  return re2::RE2::PartialMatch(line, kError);
}

// Structured logs whose message has the key "text": a level above INFO stands beside it.
bool is_record_of_a_logger(std::string_view line) {
  static const re2::RE2 kLevel(
      R"(["'](?:record["']\s*:|(?:level|levelname|severity)["']\s*:\s*["']?(?i:warn|err|fatal|crit|panic|[345]0)))",
      bytes());
  static const re2::RE2 kMessage(R"(["'](?:msg|message|event)["']\s*:)", bytes());
  return re2::RE2::PartialMatch(line, kLevel) && !re2::RE2::PartialMatch(line, kMessage);
}

class Blanker {
 public:
  explicit Blanker(std::string_view line) : text_(line) {}

  void blank_keyed_values();
  void blank_captures(const re2::RE2& pattern);
  void blank_quotations();
  void blank_list();
  std::optional<std::string> result() {
    if (!blanked_) return std::nullopt;
    return std::move(text_);
  }

 private:
  void blank(std::size_t from, std::size_t size) {
    if (size == 0 || from + size > text_.size()) return;
    std::fill_n(text_.begin() + static_cast<std::ptrdiff_t>(from), size, '.');
    blanked_ = true;
  }

  std::string text_;
  bool blanked_ = false;
};

void Blanker::blank_keyed_values() {
  // An object that tells of an error is the program's own.
  static const re2::RE2 kOwn(R"re(["'](?:error|message|detail|exception|msg)["']\s*:)re", bytes());
  const bool record = is_record_of_a_logger(text_);
  std::size_t from = 0;
  re2::StringPiece parts[4];
  while (from < text_.size() &&
         keyed_value().Match(text_, from, text_.size(), re2::RE2::UNANCHORED, parts, 4)) {
    const auto key = static_cast<std::size_t>(parts[0].data() - text_.data());
    const bool named = !parts[3].empty();
    // Of any key the match ends behind the opening quote, before which a bracket may stand.
    const bool list = named && parts[0][parts[0].size() - 2] == '[';
    const std::size_t at = key + parts[0].size() - (list ? 2 : named ? 1 : 0);
    if (named && is_own_key(parts[3])) {
      from = at + 1;
      continue;
    }
    const std::string_view value = std::string_view(text_).substr(at);
    const bool read = !parts[1].empty();
    const bool error = is_error_line(std::string_view(text_).substr(0, key));
    if (std::size_t size = quotation(value); size > 0) {
      const bool words = !named || is_several_words(value.substr(0, size));
      if (size > 2 && (named || !record) && (read || !error) && words) blank(at + 1, size - 2);
      if (named) from = at + size;
    } else if (size = bracketed(value); size > 0) {
      const re2::StringPiece inside(value.data(), size);
      if (size > 2 && !re2::RE2::PartialMatch(inside, kOwn)) blank(at + 1, size - 2);
    } else if (read && !error) {
      const bool enclosed = text_[key] == '(';  // "(Result: oom-kill) since ..."
      size = std::min(value.find_first_of(enclosed ? "\t{)" : "\t{"), value.size());
      if (is_several_words(value.substr(0, size))) blank(at, size);
    }
    from = std::max({from, at, key + 1});
  }
}

// Of a line that is a list, its strings.
void Blanker::blank_list() {
  if (!starts_with(text_, "['") && !starts_with(text_, "[\"")) return;
  for (std::size_t i = 1, end = bracketed(text_); i < end; ++i) {
    const std::size_t size = quotation(std::string_view(text_).substr(i, end - i));
    if (size > 2 && is_several_words(std::string_view(text_).substr(i, size)))
      blank(i + 1, size - 2);
    if (size > 0) i += size - 1;
  }
}

// Every capture of every match.
void Blanker::blank_captures(const re2::RE2& pattern) {
  constexpr int kMost = 4;
  std::size_t from = 0;
  re2::StringPiece parts[kMost];
  const int groups = std::min(pattern.NumberOfCapturingGroups() + 1, kMost);
  while (from < text_.size() &&
         pattern.Match(text_, from, text_.size(), re2::RE2::UNANCHORED, parts, groups)) {
    const auto at = static_cast<std::size_t>(parts[0].data() - text_.data());
    for (int i = 1; i < groups; ++i) {
      if (parts[i].empty()) continue;
      blank(static_cast<std::size_t>(parts[i].data() - text_.data()), parts[i].size());
    }
    from = at + std::max<std::size_t>(parts[0].size(), 1);
  }
}

// What a line of level INFO or DEBUG puts in quotes, unless the quotes hold the message.
void Blanker::blank_quotations() {
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\'' && i > 0 && std::isalnum(static_cast<unsigned char>(text_[i - 1])) != 0) {
      continue;  // an apostrophe
    }
    const std::size_t size = quotation(std::string_view(text_).substr(i));
    if (size == 0) continue;
    const bool value = i > 0 && (text_[i - 1] == '=' || text_[i - 1] == ':');
    if (!value && is_several_words(std::string_view(text_).substr(i, size))) {
      blank(i + 1, size - 2);
    }
    i += size - 1;
  }
}

}  // namespace

std::optional<std::string> without_payload(std::string_view line) {
  // A string beside a score, as ('text', 0.97), "text" (97.1%), "text" conf=0.97.
  static const re2::RE2 kScored(
      R"re((?:"((?:[^"\\]|\\.)+)"|'((?:[^'\\]|\\.)+)')\s*[,:)\]]?\s*\(?(?:(?i:score|conf\w*|prob\w*|p)["']?\s*[=:]?\s*)?(?:np\.float\d+\()?(?:[01]?\.\d{2,}|1\.0|\d{2}(?:\.\d+)?\s?%))re",
      bytes());
  // The same without quotes: a line of text and a score to three digits or more, with or without a
  // word that says whether the text is right.
  static const re2::RE2 kScoredLine(
      R"re(^(.*\S)(?:[\s,|]+|\s*\()(?:(?i:score|conf\w*|prob\w*)\s*[=:]?\s*)?(?:0?\.\d{3,}|1\.0+)\)?[\s|]*(?:(?i:true|false|ok|wrong|yes|no)\b[\s|]*)?$)re",
      bytes());
  // A row of a table that ends with a score.
  static const re2::RE2 kScoredRow(
      R"re(^\s*\|(.*)\|\s*(?:0?\.\d{2,}|1\.0+|\d{2}(?:\.\d+)?\s?%)\s*\|\s*$)re", bytes());
  static const re2::RE2 kOnlyAString(R"re(^\s*(?:"([^"]+)"|'([^']+)'),?\s*$)re", bytes());
  static const re2::RE2 kTagged(
      R"re(<(?:span|p|td|th|li|h\d|div|b|i|strong|text|line|word|Unicode|TextEquiv)\b[^>]*>([^<>]+)</)re",
      bytes());
  static const re2::RE2 kImage(
      R"re((?i:\.(?:jpe?g|png|tiff?|bmp|webp|gif|pdf))["'\]]?(?:\t([^\t]+)|,([^,]+),[\d.]+|\s*(?:->|=>|>>>)\s*((?:[^\tEeFf]|[Ee][^rRx]|[Ff][^aA]).*)))re",
      bytes());
  static const re2::RE2 kOfAFile(
      R"re((?i:\.(?:jpe?g|png|tiff?|bmp|webp|gif|pdf|md|txt|html?|json))["']?\s*[:,]\s*"((?:[^"\\]|\\.)+)"?)re",
      bytes());
  // A test's name and result as pytest lists them: what the tests are about.
  static const re2::RE2 kTest(R"(^(\S+::\S.* (?:PASSED|XFAIL|XPASS|SKIPPED)\b.*)$)", bytes());
  static const re2::RE2 kTells(R"((?:^|[\s\[|(])(?:INFO|DEBUG|TRACE)(?:[\s\]|:)/]|$))", bytes());
  constexpr std::size_t kHead = 100;
  constexpr std::string_view kOwnWords = ", error happened with msg";  // PaddleOCR's, of a label
  if (starts_with(line, "test result: ")) return std::nullopt;         // cargo's
  const std::size_t own = line.find(kOwnWords);
  Blanker blanker(line.substr(0, own));
  blanker.blank_keyed_values();
  blanker.blank_list();
  for (const re2::RE2* pattern :
       {&kScored, &kScoredRow, &kOnlyAString, &kTagged, &kImage, &kOfAFile, &kTest}) {
    blanker.blank_captures(*pattern);
  }
  if (line.find("loss") == std::string_view::npos) blanker.blank_captures(kScoredLine);
  const std::string_view head = line.substr(0, kHead);
  if (starts_with(line, "# ") ||  // a remark in a script
      re2::RE2::PartialMatch(head, kTells)) {
    blanker.blank_quotations();
  }
  std::optional<std::string> left = blanker.result();
  if (left && own != std::string_view::npos) left->append(line.substr(own));
  return left;
}

namespace {

constexpr int kLongestValue = 30;  // lines of a value that is wrapped

// The quote of a value, args=('..., "text": "..., that the line leaves open; 0: none.
char open_value(std::string_view line) {
  static const re2::RE2 kValue(
      R"((?:args|kwargs|argsrepr|text|content|body|payload|result|prompt)["']?(?:=|: ?)[\[({]*(["'])(.*)$)");
  if (line.find('=') == line.npos && line.find(':') == line.npos) return 0;
  if (line.find('\'') == line.npos && line.find('"') == line.npos) return 0;
  std::string quote;
  re2::StringPiece value;
  if (!re2::RE2::PartialMatch({line.data(), line.size()}, kValue, &quote, &value)) return 0;
  int open = 1;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const bool apostrophe = i > 0 && i + 1 < value.size() &&
                            std::isalnum(static_cast<unsigned char>(value[i - 1])) != 0 &&
                            std::isalnum(static_cast<unsigned char>(value[i + 1])) != 0;
    if (value[i] == '\\') {
      ++i;
    } else if (value[i] == quote[0] && !(quote[0] == '\'' && apostrophe)) {
      open ^= 1;
    }
  }
  return open == 1 ? quote[0] : '\0';
}

bool is_logged(std::string_view line) {
  static const re2::RE2 kOfALogger(
      R"(^\S{0,3}\d{2,4}[-/:]\d\d[-/:]\d\d|^\[\d{4}[-/]|^(?:INFO|DEBUG|WARNING|ERROR)\b|^[IWEF]\d{4} )",
      bytes());
  return re2::RE2::PartialMatch({line.data(), std::min<std::size_t>(line.size(), 40)}, kOfALogger);
}

bool ends_value(std::string_view line, char quote) {
  for (std::size_t at = line.find(quote); at != line.npos; at = line.find(quote, at + 1)) {
    if (at + 1 == line.size() || std::string_view(",)]}").find(line[at + 1]) != line.npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

// Of a value in quotes that is wrapped over lines; nothing: none is open, and none begins.
std::optional<bool> PayloadBlock::take_value(std::string_view line) {
  if (quote_ != 0) {
    const bool logged = is_logged(line);
    lines_left_ -= 1;
    if (logged || lines_left_ == 0 || ends_value(line, quote_)) quote_ = 0, lines_left_ = 0;
    if (!logged) return true;
  }
  if (lines_left_ > 0) return std::nullopt;
  quote_ = open_value(line);
  if (quote_ == 0) return std::nullopt;
  lines_left_ = kLongestValue;
  return false;
}

bool PayloadBlock::take_line(std::string_view line, bool in_a_log) {
  // A guess that bounds a block whose end is not seen: the rest of a log must not vanish in it.
  constexpr int kLongest = 200;
  // Among them "=== scan_01.png": a loop of a shell names the file whose text follows.
  static const re2::RE2 kHeading(
      R"((?i)^[-=#*]{2,}\s*(?:(?:(?:page )?text|content|markdown|warnings summary)|(?:sample|example|page|image|document|prediction|answer|response|prompt)\s*#?\d+(?:/\d+)?)\s*[-=#*]{2,}$|^[-=#*]{2,}>?\s*(?:\S*/)?(?:(?:page|scan|img|image|doc)[\w-]*\d\w*\.(?:txt|md|json)|[\w.-]+\.(?:png|jpe?g|tiff?|pdf|webp|bmp))\s*[-=#*<]*$|^(.{0,80}?)[-=#*<>\s]*(?:recogni[sz]ed text|ocr (?:text|results?|output)|extracted text|transcription|(?:document|page) text|识别结果|识别文本|prompt|response|completion|model output|generated text)[^:=]{0,40}(?::|：)?\s*[-=#*>|]*\s*$)",
      bytes());
  static const re2::RE2 kOfATest(R"(^-+ Captured (?:stdout|stderr|log) \w+ -+$)", bytes());
  static const re2::RE2 kRule(R"(^\s*(?:[-=#*_~]{3,}|```|"""|</\w+>).*$|^rc=\d+$|^== |^\$ )",
                              bytes());
  static const re2::RE2 kCut(R"(^-+ ?8<[ -]*$)", bytes());  // to "----->8-----"
  // "[eval 003] answer : ...": its further lines have no such label.
  static const re2::RE2 kLabelled(
      R"((?i)^\[[a-z][\w -]*\d\] *(?:answer|response|reply|completion|prediction|output) ?: )",
      bytes());
  constexpr std::size_t kLongestHeading = 160;
  line = trim(line);
  if (const std::optional<bool> quoted = take_value(line)) return *quoted;
  if (!end_.empty()) {
    const bool ends = line.find(end_) != line.npos && (line[0] == '-' || line[0] == '`');
    lines_left_ = ends ? 0 : lines_left_ - 1;
    if (lines_left_ == 0) end_ = "";
    return !ends;
  }
  const bool fence = starts_with(line, "```");
  if (fence && !quotes_by_fences_) quotes_by_fences_ = in_a_log;
  if (fence ? *quotes_by_fences_ : starts_with(line, "-") && re2::RE2::PartialMatch(line, kCut)) {
    end_ = fence ? "```" : ">8";
    lines_left_ = kLongest;
    return true;
  }
  if (starts_with(line, "[")) {
    if (labelled_) lines_left_ = 0;
    labelled_ = re2::RE2::PartialMatch(line, kLabelled);
    if (labelled_) return lines_left_ = kLongest, true;
  }
  const bool may_open = line.size() < kLongestHeading && !line.empty() &&
                        (std::string_view(":=-#*>|").find(line.back()) != std::string_view::npos ||
                         ends_with(line, "：") || ends_with(line, "果") || starts_with(line, "=="));
  if (lines_left_ == 0 && !may_open) return false;
  const re2::StringPiece piece(line.data(), std::min<std::size_t>(line.size(), 400));
  const bool logged = is_logged(line);
  if (lines_left_ > 0) {
    lines_left_ -= 1;
    const bool ruled =
        !dated_ && re2::RE2::PartialMatch(piece, kRule) && !(of_a_loop_ && starts_with(line, "$ "));
    if (!ruled && (of_a_test_ || !logged)) return true;
    lines_left_ = 0;
  }
  of_a_test_ = may_open && re2::RE2::PartialMatch(piece, kOfATest);
  if (of_a_test_ || (may_open && re2::RE2::PartialMatch(piece, kHeading) && !is_error_line(line))) {
    lines_left_ = kLongest;
    dated_ = logged;
    of_a_loop_ = starts_with(line, "==");
  }
  return false;
}

}  // namespace ocrtune
