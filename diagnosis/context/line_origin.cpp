// All prefixes in one RE2::Set, tried again on what is left, for launchers stack: a journal before
// a container before torchrun. The first row of the table that fits wins.
#include "diagnosis/context/line_origin.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <re2/re2.h>
#include <re2/set.h>

#include "base/text.h"

namespace ocrtune {
namespace {

// What the captures of a prefix say. A child is of the actor before it, and the better name.
enum class Names { nothing, rank, actor, child, host };

struct Prefix {
  Names names;
  bool only_first;  // means this only where nothing stands before it
  const char* pattern;
};

// In this order at each level. What follows a bare number tells a rank from a shell's job and from
// a process id.
constexpr Prefix kPrefixes[] = {
    {Names::rank, true, R"(\[\d+,(\d+)\]<std\w+>: ?)"},
    {Names::rank, false,
     R"(\[(?:rank|Rank|RANK|default|gpu|GPU|cuda:|RANK_)[ _=]?(\d{1,6})\]:? ?)"},
    {Names::rank, true, R"(\[(\d{1,4})\]:(?: |[A-Za-z]))"},
    {Names::rank, true, R"(\[(\d{1,4})\] [A-Za-z\[(<])"},
    {Names::rank, true, R"( *(\d{1,4}): [A-Za-z\[ ])"},
    {Names::rank, false, R"([Rr]ank[ =_]?(\d{1,6})(?:[:|\]]+|,|[ \t]+\||)[ \t])"},
    {Names::rank, false, R"((?:trainer|rank|gpu|learner)[-_](\d{1,6})[ \t]+[|/] )"},
    {Names::actor, false, R"(([a-z][\w.-]*-[\w.-]*) +[|/] )"},
    {Names::actor, false, R"(([a-z][\w.-]*\d) +[|/] )"},
    {Names::nothing, false, R"([\w.-]+ +\| )"},
    {Names::nothing, false, R"(.{1,80}? \|\| )"},
    {Names::actor, false, R"(\[pod/([^\]/]+)(?:/[^\]]+)?\] )"},
    {Names::actor, false,
     R"(([a-z][\w-]*-(?:\d+|[a-z0-9]{5})) [a-z][\w-]* (?:› )?(?:[A-Z\[(]|  File))"},
    {Names::actor, false, R"(\(((?:\S+ ){0,2}pid=\d+(?:, ip=[\d.]+)?)[^)]*\) )"},
    {Names::child, false, R"(\[\d{4}-\d\d-\d\d [\d:,.]+: [A-Z]+/(?:MainProcess|([\w-]+))\] )"},
    {Names::host, false, R"(\[([\w.:-]{1,24})\]:? +)"},
    {Names::host, false, R"(([a-z][A-Za-z0-9.-]{0,24}\d|host[A-Za-z]): )"},
    {Names::host, false, R"(([a-z][a-z0-9-]{0,24})(?::\d+(?::\d+ \[\d+\])?|>) )"},
    {Names::host, false, R"([A-Z][a-z]{2} [ \d]\d [\d:]{8} (\S+) [^\s:]+: )"},
    {Names::nothing, false,
     R"(\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d[.,\d]*(?:Z|[+-]\d\d:?\d\d)? +)"},
    {Names::nothing, false, R"(\[\d{4}-\d\d-\d\d [\d:.,]+(?: \w+)?\] )"},
    {Names::nothing, false, R"(std(?:out|err) [FP] |- [\w.]+ - (?:ERROR|CRITICAL) - )"},
    {Names::nothing, false, R"((?:ERROR|CRITICAL):? +|\d\d-\d\d \d\d:\d\d:\d\d (?:\[\S+\] )?)"},
};

// Compiled once: all of them in one pass, then the one that fits for what it captures.
struct PrefixPatterns {
  std::vector<std::unique_ptr<re2::RE2>> each;
  std::unique_ptr<re2::RE2::Set> all;

  PrefixPatterns() {
    re2::RE2::Options options;
    // Bytes: a line need not be UTF-8.
    options.set_encoding(re2::RE2::Options::EncodingLatin1);
    all = std::make_unique<re2::RE2::Set>(options, re2::RE2::ANCHOR_START);
    for (const Prefix& prefix : kPrefixes) {
      const std::string whole = "(" + std::string(prefix.pattern) + ")";
      each.push_back(std::make_unique<re2::RE2>(whole, options));
      all->Add(whole, nullptr);
    }
    all->Compile();
  }
};

const PrefixPatterns& prefix_patterns() {
  static const PrefixPatterns kPatterns;
  return kPatterns;
}

// Patterns that look at what follows the prefix give it back.
std::size_t prefix_size(std::string_view whole) {
  const char last = whole.back();
  if (last == ' ' || last == '\t' || last == ']') return whole.size();
  if (ends_with(whole, "  File")) return whole.size() - 6;
  return whole.size() - (last == ':' ? 0 : 1);
}

// Of what may also be a level or a program: "node-b", "gpu7".
bool is_host(std::string_view name) {
  return name[0] >= 'a' && name[0] <= 'z' && !starts_with(name, "python") &&
         name.find_first_of("0123456789-") != std::string_view::npos;
}

// The length of the prefix; 0: none. Keeps what it names.
std::size_t take_prefix(std::string_view text, bool first, LineOrigin& origin) {
  const re2::StringPiece piece(text.data(), text.size());
  std::vector<int> fitting;
  if (!prefix_patterns().all->Match(piece, &fitting)) return 0;
  std::ranges::sort(fitting);
  for (const int i : fitting) {
    const Prefix& prefix = kPrefixes[i];
    if (prefix.only_first && !first) continue;
    const re2::RE2& pattern = *prefix_patterns().each[static_cast<std::size_t>(i)];
    re2::StringPiece parts[3];
    const int groups = std::min(pattern.NumberOfCapturingGroups() + 1, 3);
    if (!pattern.Match(piece, 0, piece.size(), re2::RE2::ANCHOR_START, parts, groups)) continue;
    const std::string_view name(parts[2].data(), parts[2].size());
    if (prefix.names == Names::rank && !origin.rank) {
      if (const auto number = parse_integer(name)) origin.rank = static_cast<int>(*number);
    }
    if (prefix.names == Names::actor && origin.actor.empty()) origin.actor = name;
    if (prefix.names == Names::child && !name.empty()) origin.actor = name;
    if (prefix.names == Names::host && origin.host.empty() && is_host(name)) origin.host = name;
    return prefix_size({parts[1].data(), parts[1].size()});
  }
  return 0;
}

// Of clocks: shapes, not regular expressions, for very many lines are asked and most have no date.

// Matches `shape` at the start of text: 'd' is a digit, '/' is '/' or '-', '_' is a blank, 'T' or
// itself, anything else itself.
bool has_shape(std::string_view text, std::string_view shape) {
  if (text.size() < shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const char c = text[i];
    bool fits = c == shape[i];
    if (shape[i] == 'd') fits = c >= '0' && c <= '9';
    if (shape[i] == '/') fits = c == '/' || c == '-';
    if (shape[i] == '_') fits = c == ' ' || c == 'T' || c == '_';
    if (!fits) return false;
  }
  return true;
}

int digits(std::string_view text, std::size_t from, std::size_t count) {
  int value = 0;
  for (std::size_t i = from; i < from + count; ++i) {
    value = value * 10 + (text[i] == ' ' ? 0 : text[i] - '0');
  }
  return value;
}

// `clock` starts at "hh:mm:ss", perhaps with a fraction.
double seconds_of(int month, int day, std::string_view clock) {
  // Of a leap year, for the year is unknown: times of other years are a day off after February.
  constexpr int kDaysBefore[] = {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335};
  const int days = kDaysBefore[std::clamp(month, 1, 12) - 1] + day - 1;
  double seconds = days * 86400.0 + digits(clock, 0, 2) * 3600.0 + digits(clock, 3, 2) * 60.0 +
                   digits(clock, 6, 2);
  double unit = 0.1;
  if (clock.size() > 8 && (clock[8] == '.' || clock[8] == ',')) {
    for (std::size_t i = 9; i < clock.size() && clock[i] >= '0' && clock[i] <= '9'; ++i) {
      seconds += unit * (clock[i] - '0');
      unit /= 10;
    }
  }
  return seconds;
}

int month_named(std::string_view text) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const std::size_t at = kMonths.find(text.substr(0, 3));
  return at != std::string_view::npos && at % 3 == 0 ? static_cast<int>(at / 3) + 1 : 0;
}

}  // namespace

LineOrigin origin_of(std::string_view line) {
  // A guess.
  constexpr int kLevels = 4;
  LineOrigin origin;
  origin.text = line;
  for (int i = 0; i < kLevels; ++i) {
    const std::size_t size = take_prefix(origin.text, i == 0, origin);
    if (size == 0) break;
    origin.text.remove_prefix(size);
  }
  constexpr std::string_view kWorker = "workerlog.";  // "workerlog.3: ...", as grep and tail put it
  if (!origin.rank) origin.rank = rank_of_line(line);
  if (!origin.rank && starts_with(line, kWorker)) {
    origin.rank = rank_of_file(std::string(line.substr(0, line.find(':'))));
  }
  // "RayTaskError(ValueError): ray::Reader.read() (pid=4321, ip=10.0.0.5)"
  static const re2::RE2 kRayTask(R"(\bray::(\w+)[\w.]*\(\).{0,8}\(pid=(\d+))");
  std::string task, pid;
  if (origin.actor.empty() && line.find("ray::") != line.npos &&
      re2::RE2::PartialMatch(line, kRayTask, &task, &pid)) {
    origin.actor = task + " pid=" + pid;
  }
  // A rank is the better name: two names would make two processes of one.
  if (origin.rank) origin.actor.clear();
  return origin;
}

std::string_view heading_of(std::string_view line) {
  constexpr std::string_view kOpens = "==> ";
  if (starts_with(line, "GPU 0000")) return trim(line);
  if (!starts_with(line, kOpens)) return "";
  const std::string_view name = line.substr(kOpens.size());
  return name.substr(0, std::min(name.find(" <=="), name.size()));
}

std::optional<int> rank_of_line(std::string_view line) {
  static const re2::RE2 kRank(R"((?:^|[\[ (]|self_)(?:[rR]ank|RANK)[ =:]*(\d{1,6}))");
  const std::string_view head = line.substr(0, 72);
  int rank = 0;
  const bool named = re2::RE2::PartialMatch(head, kRank, &rank);
  return named ? std::optional<int>(rank) : std::nullopt;
}

std::optional<int> rank_of_file(const std::string& path) {
  constexpr int kLargest = 1000000;
  static const re2::RE2 kNames[] = {
      // "rank" and a number anywhere in the name, before its end or a separator
      re2::RE2(R"((?i).*rank[._-]?(\d{1,6})(?:[._-].*)?)"),
      re2::RE2(
          R"((?i)(?:workerlog|r|w|worker|trainer|out|log|err)?[._-]*(0|[1-9]\d{0,5})(?:\..*)?)"),
      re2::RE2(R"(slurm-\d+(?:_\d+)?-(\d{1,6})\.\w+)"),  // srun --output slurm-%j-%t.out
  };
  const std::size_t slash = path.find_last_of('/');
  const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  // The number of a descriptor is no rank.
  if (starts_with(path, "/dev/fd/") || starts_with(path, "/proc/")) return std::nullopt;
  int rank = 0;
  for (const re2::RE2& pattern : kNames) {
    if (re2::RE2::FullMatch(name, pattern, &rank) && rank <= kLargest) return rank;
  }
  // torchrun's log folders: attempt_0/3/stderr.log. Other folders' numbers are of jobs and days.
  static const re2::RE2 kFolder(R"((?:.*/)?(\d{1,6})/(?:std(?:out|err)(?:\.log)?|error\.json))");
  if (re2::RE2::FullMatch(path, kFolder, &rank) && rank <= kLargest) return rank;
  return std::nullopt;
}

std::optional<double> parse_log_time(std::string_view line) {
  // Dates stand at the beginning, behind prefixes; further on they are of something else.
  line = line.substr(0, 160);
  for (std::size_t i = 0; i + 14 < line.size(); ++i) {
    const std::string_view text = line.substr(i);
    const char c = text[0];
    if (c >= '0' && c <= '9') {
      if (has_shape(text, "dddd/dd/dd_dd:dd:dd")) {
        return seconds_of(digits(text, 5, 2), digits(text, 8, 2), text.substr(11));
      }
      if (has_shape(text, "dd ") && text.size() >= 20 && month_named(text.substr(3)) > 0 &&
          has_shape(text.substr(6), " dddd dd:dd:dd")) {  // kubectl: Mon, 02 Jun 2025 10:11:12
        return seconds_of(month_named(text.substr(3)), digits(text, 0, 2), text.substr(12));
      }
      if ((i == 0 || line[i - 1] == ' ') && has_shape(text, "dd-dd dd:dd:dd")) {  // vLLM
        return seconds_of(digits(text, 0, 2), digits(text, 3, 2), text.substr(6));
      }
    } else if (c == 'I' || c == 'W' || c == 'E' || c == 'F') {
      if (has_shape(text.substr(1), "dddd dd:dd:dd")) {
        return seconds_of(digits(text, 1, 2), digits(text, 3, 2), text.substr(6));
      }
      if (has_shape(text.substr(1), "ddd dd:dd:dd")) {  // PyTorch drops the month's zero
        return seconds_of(digits(text, 1, 1), digits(text, 2, 2), text.substr(5));
      }
    }
    if (c >= 'A' && c <= 'S' && text.size() >= 15 && text[3] == ' ' &&
        has_shape(text.substr(6), " dd:dd:dd") && month_named(text) > 0) {
      const char ten = text[4];
      if ((ten == ' ' || (ten >= '0' && ten <= '3')) && text[5] >= '0' && text[5] <= '9') {
        return seconds_of(month_named(text), digits(text, 4, 2), text.substr(7));
      }
    }
  }
  return std::nullopt;
}

}  // namespace ocrtune
