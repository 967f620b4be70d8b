// Plain scans without regular expressions: every line of a command passes here. What looks alike in
// many programs is told apart by what stands beside it; the tests hold the lines of real programs.
#include "trial/logs/log_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <iterator>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kHead = 300;  // bytes of a line that may name its process

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// The end of the escape sequence that begins at `at`.
// Forms of ECMA-48: CSI (ESC [) up to a final byte from '@' to '~', OSC (ESC ]), else two bytes.
std::size_t escape_end(std::string_view line, std::size_t at) {
  std::size_t end = at + 1;
  if (end >= line.size()) return end;
  if (line[end] == ']') {  // a title or a hyperlink: up to BEL or ESC backslash
    while (end < line.size() && line[end] != '\a' && line[end] != '\x1b') ++end;
    return std::min(line.size(), end + (end < line.size() && line[end] == '\x1b' ? 2 : 1));
  }
  if (line[end] != '[') return end + 1;
  ++end;
  while (end < line.size() && (line[end] < '@' || line[end] > '~')) ++end;
  return std::min(line.size(), end + 1);
}

std::size_t digits_end(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

// The end of ",234,567" after the first digits, or `at`.
std::size_t groups_end(std::string_view text, std::size_t at, char mark) {
  std::size_t end = at;
  // Exactly three digits make a group; four digits behind a comma are no thousands.
  while (end < text.size() && text[end] == mark && digits_end(text, end + 1) == end + 4) end += 4;
  return end;
}

// The end of ".7" or ",7", or `at`.
std::size_t fraction_end(std::string_view text, std::size_t at, char mark) {
  if (at >= text.size() || text[at] != mark) return at;
  const std::size_t end = digits_end(text, at + 1);
  return end > at + 1 ? end : at;
}

double factor_of(char suffix) {
  if (suffix == 'k' || suffix == 'K') return 1e3;
  return suffix == 'M' ? 1e6 : 1;
}

void append_digits(std::string_view text, std::string& digits) {
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits), is_digit);
}

// Digits, then groups of thousands or a fraction or both. Where both a comma and a point stand, the
// last is the decimal mark. A comma alone parts thousands where exactly three digits follow it and
// the number does not begin with 0; else it is a decimal comma. A point alone is a decimal point.
std::size_t mantissa_end(std::string_view text, std::size_t begin, std::string& digits) {
  const std::size_t first = digits_end(text, begin);
  // "0,412" is a decimal comma: no number of thousands begins with 0.
  const bool may_group = first > begin && first - begin <= 3 && text[begin] != '0';
  const std::size_t dotted = may_group ? groups_end(text, first, '.') : first;
  const std::size_t comma = dotted > first ? fraction_end(text, dotted, ',') : dotted;
  const bool comma_last = comma > dotted && (comma == text.size() || text[comma] != '.');
  std::size_t whole = dotted, end = comma;  // 5.412,7
  if (!comma_last) {
    whole = may_group ? groups_end(text, first, ',') : first;
    end = fraction_end(text, whole, '.');
    if (end == whole && whole == first) end = fraction_end(text, whole, ',');
  }
  append_digits(text.substr(begin, whole - begin), digits);
  if (end > whole) {
    digits += '.';
    append_digits(text.substr(whole, end - whole), digits);
  }
  return end;
}

// The "25" of "v1.25" and the "2024" of "12.05.2024" are no numbers of their own.
bool ends_a_date_or_a_name(std::string_view text, std::size_t begin) {
  return begin > 0 && (in_a_word(text[begin - 1]) || text[begin - 1] == '.');
}

std::optional<int> small_number(std::string_view text, int ranks) {
  int value = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || value < 0 || value >= ranks) return std::nullopt;
  return value;
}

// "[default1]:", "[1]:", "1: ": what torchrun, mpirun and srun --label put in front.
std::optional<int> rank_in_front(std::string_view line, int ranks) {
  std::size_t at = 0;
  const bool bracket = !line.empty() && line[0] == '[';
  if (bracket) ++at;
  const std::size_t word = at;
  while (at < line.size() && std::isalpha(static_cast<unsigned char>(line[at])) != 0) ++at;
  const bool named = at > word;
  std::size_t digits = at;
  std::size_t end = digits_end(line, at);
  // mpirun --tag-output: "[1,0]<stdout>:".
  if (bracket && !named && end > at && end < line.size() &&
      line[end] == ',') {  // [job,rank]<stream>
    digits = end + 1;
    end = digits_end(line, digits);
    if (line.substr(end, 2) != "]<") return std::nullopt;
    return small_number(line.substr(digits, end - digits), ranks);
  }
  // A word needs a bracket around it: "step1: " names no rank.
  if (end == digits || (!bracket && named)) return std::nullopt;
  const std::string_view rest = line.substr(end);
  if (bracket ? !starts_with(std::string(rest.substr(0, 2)), "]:")
              : !starts_with(std::string(rest.substr(0, 2)), ": ")) {
    return std::nullopt;
  }
  return small_number(line.substr(digits, end - digits), ranks);
}

// Names of processes with a number behind them, and how high it may be.
struct SpeakerWord {
  std::string_view word;
  int most;
  bool ends_a_name;  // "ForkPoolWorker-3"
};
constexpr std::array<SpeakerWord, 8> kSpeakers = {{{"rank", 4095, false},
                                                   {"worker", 4095, true},
                                                   {"process", 4095, true},
                                                   {"proc", 4095, false},
                                                   {"shard", 4095, false},
                                                   {"replica", 4095, false},
                                                   {"cuda", 63, false},
                                                   {"gpu", 63, false}}};

// "worker 0: ", "[worker 0]", "Worker-1"; not "process 16 images".
bool is_a_label(std::string_view low, std::size_t digit, std::size_t end) {
  const std::size_t next = low.find_first_not_of(' ', end);
  const bool closed =
      next != low.npos && std::string_view("]):|>").find(low[next]) != std::string_view::npos;
  return closed || low[digit - 1] == '-' || low[digit - 1] == '#';
}

// The number behind a word of `low` that names a process; none where it is a fraction, a share, a
// part of a word, or above `most`.
std::optional<int> number_behind(std::string_view low, const SpeakerWord& named, int most) {
  const std::string_view word = named.word;
  for (std::size_t at = low.find(word); at != low.npos; at = low.find(word, at + word.size())) {
    const std::size_t behind = at + word.size();
    const bool begins = at == 0 || std::isalnum(static_cast<unsigned char>(low[at - 1])) == 0;
    if (!begins && !named.ends_a_name) continue;
    const std::size_t digit = low.find_first_not_of("\"' =:_#-[(", behind);
    // At most a few marks between word and number, or the number belongs to what follows.
    if (digit == low.npos || !is_digit(low[digit]) || digit > behind + 4) continue;
    const std::size_t end = digits_end(low, digit);
    if (end < low.size() && (low[end] == '.' || low[end] == '%' || in_a_word(low[end]))) continue;
    // "rank" alone is a label by itself; the other words also count things.
    if (word != kSpeakers[0].word && !is_a_label(low, digit, end)) continue;
    if (const auto number = small_number(low.substr(digit, end - digit), most + 1)) return number;
  }
  return std::nullopt;
}

}  // namespace

bool in_a_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string plain_line(std::string_view line, char tab) {
  std::string plain;
  plain.reserve(line.size());
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '\x1b') {
      at = escape_end(line, at);
      continue;
    }
    const auto byte = static_cast<unsigned char>(line[at++]);
    // A tab is below 0x20, so it is not appended once more.
    if (byte == '\t') plain += tab;
    if (byte >= 0x20 && byte != 0x7f) plain += static_cast<char>(byte);
  }
  return plain;
}

std::optional<FoundNumber> number_at(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] == ' ') ++at;
  FoundNumber found;
  found.begin = at;
  std::string digits;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) {
    if (text[at] == '-') digits = "-";
    ++at;
  }
  if (at < text.size() && text[at] == '.') digits += '0';
  const bool whole = at < text.size() && is_digit(text[at]);
  if (!whole && (at + 1 >= text.size() || text[at] != '.' || !is_digit(text[at + 1]))) {
    return std::nullopt;
  }
  std::size_t end = mantissa_end(text, at, digits);
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t power = end + 1;
    if (power < text.size() && (text[power] == '-' || text[power] == '+')) ++power;
    const std::size_t power_end = digits_end(text, power);
    if (power_end > power) {
      digits += text[end + 1] == '-' ? "e-" : "e";
      digits.append(text.substr(power, power_end - power));
      end = power_end;
    }
  }
  // Reads "1234.5" in any locale, where strtod() obeys LC_NUMERIC.
  const auto [rest, code] =
      std::from_chars(digits.data(), digits.data() + digits.size(), found.value);
  if (code != std::errc() || !std::isfinite(found.value)) return std::nullopt;
  // "12k" is 12,000, but the M of "3MB" is part of a word.
  if (end < text.size() && factor_of(text[end]) > 1 &&
      (end + 1 == text.size() || !in_a_word(text[end + 1]))) {
    found.value *= factor_of(text[end++]);
  }
  found.end = end;
  return found;
}

std::optional<FoundNumber> number_ending_at(std::string_view text, std::size_t end) {
  while (end > 0 && text[end - 1] == ' ') --end;
  // The longest that ends there: begin as far to the left as number characters go.
  std::size_t begin = end;
  static constexpr std::string_view kCharacters = "0123456789.,eE+-kKM";
  while (begin > 0 && kCharacters.find(text[begin - 1]) != std::string_view::npos) --begin;
  for (; begin < end; ++begin) {
    if (!is_digit(text[begin]) && text[begin] != '.') continue;
    if (ends_a_date_or_a_name(text, begin)) continue;
    // A minus that stands alone before the digits: a negative speed is none.
    const bool minus = begin > 0 && text[begin - 1] == '-' && (begin < 2 || text[begin - 2] == ' ');
    if (minus) return std::nullopt;
    const auto found = number_at(text.substr(0, end), begin);
    if (found && found->end == end) return found;
  }
  return std::nullopt;
}

bool names_preparation(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kStarts = {
      "map",    "filter",  "tokeniz", "load",  "download", "generat",
      "prepar", "preproc", "cach",    "scann", "extract",  "reading"};
  const std::string low = lower(text);
  return std::any_of(kStarts.begin(), kStarts.end(), [&](std::string_view start) {
    for (std::size_t at = low.find(start); at != std::string::npos; at = low.find(start, at + 1)) {
      const std::size_t end = low.find_first_not_of("abcdefghijklmnopqrstuvwxyz", at);
      // "load_time" and "cache.py" are names of other things.
      const bool name = end < low.size() && (low[end] == '_' || low[end] == '.');
      if ((at == 0 || !in_a_word(low[at - 1])) && !name) return true;
    }
    return false;
  });
}

namespace {

bool has_word_of(std::string_view text, std::initializer_list<std::string_view> starts) {
  // Whole words: beginnings of these would match "value", "tests" or "device".
  static constexpr std::array<std::string_view, 4> kWords = {"val", "test", "testing", "dev"};
  const std::string low = lower(text);
  for (std::size_t at = 0; at < low.size();) {
    std::size_t end = at;
    while (end < low.size() && (in_a_word(low[end]) || low[end] == '.')) ++end;
    const std::string_view word = std::string_view(low).substr(at, end - at);
    at = end + 1;
    if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) return true;
    if (word.find_first_of("_.") != std::string_view::npos) continue;  // val_loss, evaluate.py
    if (std::any_of(starts.begin(), starts.end(),
                    [&](std::string_view start) { return word.starts_with(start); })) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool names_validation(std::string_view text) {
  return has_word_of(text, {"eval", "valid", "sanity"});
}

bool names_evaluation(std::string_view text) {
  return has_word_of(text, {"eval", "valid", "sanity", "predict", "infer"});
}

std::optional<int> rank_named(std::string_view line, int ranks) {
  // One rank needs no name, and "1: " may be a list.
  if (ranks < 2) return std::nullopt;
  const auto front = rank_in_front(line, ranks);
  return front ? front : number_behind(lower(line.substr(0, kHead)), kSpeakers[0], ranks - 1);
}

std::optional<int> process_named(std::string_view line, int ranks) {
  if (const auto rank = rank_named(line, ranks)) return rank;
  const std::string low = lower(line.substr(0, kHead));
  for (const SpeakerWord& named : kSpeakers) {
    if (const auto number = number_behind(low, named, named.most)) return number;
  }
  return std::nullopt;
}

bool is_step_noun(std::string_view word) {
  static constexpr std::array<std::string_view, 13> kNouns = {
      "it",      "its",  "iter",  "iters",  "iteration", "iterations", "batch",
      "batches", "step", "steps", "update", "updates",   "ba"};
  return std::find(kNouns.begin(), kNouns.end(), word) != kNouns.end();
}

bool is_sample_noun(std::string_view word) {
  static constexpr std::array<std::string_view, 24> kNouns = {
      "sample", "samples", "image", "images", "img",      "imgs",      "example", "examples",
      "ex",     "item",    "items", "line",   "lines",    "sequence",  "seq",     "sequences",
      "record", "records", "page",  "pages",  "document", "documents", "doc",     "docs"};
  return std::find(kNouns.begin(), kNouns.end(), word) != kNouns.end();
}

}  // namespace ocrtune
