#include "diagnosis/log_scan.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "base/check.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "diagnosis/log_encoding.h"
#include "diagnosis/log_matcher.h"
#include "diagnosis/log_time.h"

namespace ocrtune {
namespace {

constexpr std::size_t kBlock = 64UL * 1024;
constexpr std::size_t kLongestLine = 16UL * 1024;  // longer ones are looked at in pieces
constexpr std::size_t kKeptText = 500;
constexpr std::size_t kKeptSubjects = 16;
constexpr std::size_t kMaxRanks = 64;                        // of one signature in one file
constexpr std::size_t kLastLines = 40, kTail = 32UL * 1024;  // lines, bytes

std::size_t find_word(std::string_view text, std::string_view word) {
  const void* at = ::memmem(text.data(), text.size(), word.data(), word.size());
  return at == nullptr ? std::string_view::npos
                       : static_cast<std::size_t>(static_cast<const char*>(at) - text.data());
}

bool contains(std::string_view text, std::string_view word) {
  return find_word(text, word) != std::string_view::npos;
}

// Up to the first '\n' or '\r', or the block's end. Two memchr calls beat a byte loop by far.
std::size_t line_end(std::string_view block) {
  const std::size_t newline = std::min(block.find('\n'), block.size());
  return std::min(block.substr(0, newline).find('\r'), newline);
}

bool is_run_start(std::string_view line) {
  return contains(line, "INFO: train with paddle") || contains(line, "Configuration  ------");
}

// What a person typed, "me@host:~$ docker inspect ...": it says what was asked, not what was so.
bool is_typed_command(std::string_view line) {
  if (starts_with(line, "$ ") || contains(line, ".OOMKilled}}")) return true;
  const std::string_view head = line.substr(0, line.find_first_of(" \t"));
  return head.find(':') != std::string_view::npos && (head.back() == '$' || head.back() == '#');
}

// What a typed command asks for that answers with a bare word.
enum class Asked { nothing, oom_killed, exit_code };

Asked asked_by(std::string_view line) {
  if (!is_typed_command(line)) return Asked::nothing;
  if (contains(line, ".OOMKilled}}")) return Asked::oom_killed;
  return contains(line, "echo $?") ? Asked::exit_code : Asked::nothing;
}

// The answer with its name, as a whole output has it.
std::string named_answer(Asked asked, std::string_view line) {
  if (asked == Asked::exit_code) {
    const bool number = line.find_first_not_of("0123456789") == std::string_view::npos;
    return (number ? "exit code " : "") + std::string(line);
  }
  const bool yes = contains(line, "true"), no = contains(line, "false");
  if (yes == no) return std::string(line);
  return yes ? R"("OOMKilled": true)" : R"("OOMKilled": false)";
}

std::string without_colours(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      i += 2;
      while (i < text.size() && (text[i] < '@' || text[i] > '~')) ++i;
    } else if (text[i] != '\x1b') {
      out += text[i];
    }
  }
  return out;
}

std::string kept_text(std::string_view text) {
  std::string out = valid_utf8(text.substr(0, kKeptText));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return std::string(trim(out));
}

// How trainers say how long a step took and how much of it waited for data: PaddleOCR, MMEngine,
// PyTorch's ImageNet example and its many children.
struct StepWords {
  std::string_view reader, step;
};
constexpr StepWords kStepWords[] = {
    {"reader_cost: ", "batch_cost: "}, {"data_time: ", " time: "}, {"Data ", "Time "}};

// "reader_cost: 0.00010 s" -> 0.0001
std::optional<double> number_after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = trim(line.substr(at + key.size(), 24));
  const auto value = parse_number(rest.substr(0, rest.find(' ')));
  return value ? std::optional<double>(*value) : std::nullopt;
}

}  // namespace

std::optional<int> rank_of_line(std::string_view line) {
  const std::string_view head = line.substr(0, 72);
  for (std::size_t i = 1; i + 4 < head.size(); ++i) {
    if (head.substr(i, 3) != "ank" || (head[i - 1] != 'r' && head[i - 1] != 'R')) continue;
    if (i >= 2 && head[i - 2] != '[' && head[i - 2] != ' ' && head[i - 2] != '(' &&
        !(i >= 6 && head.substr(i - 6, 5) == "self_")) {
      continue;
    }
    std::size_t at = i + 3;
    while (at < head.size() && (head[at] == ' ' || head[at] == '=' || head[at] == ':')) ++at;
    int rank = 0;
    std::size_t digits = 0;
    for (; at < head.size() && head[at] >= '0' && head[at] <= '9' && digits < 6; ++at, ++digits) {
      rank = rank * 10 + (head[at] - '0');
    }
    if (digits > 0) return rank;
  }
  return std::nullopt;
}

std::optional<int> rank_of_file(const std::string& path) {
  const auto whole = [](std::string_view text) -> std::optional<int> {
    const auto number = parse_integer(text);
    if (!number || *number < 0 || *number > 1000000 || text[0] == '+') return std::nullopt;
    return static_cast<int>(*number);
  };
  const std::size_t slash = path.find_last_of('/');
  const std::string name = lower(path.substr(slash == std::string::npos ? 0 : slash + 1));
  const std::size_t digit = name.find_first_of("0123456789");
  if (digit == std::string::npos) {  // torchrun's log folders: attempt_0/3/stderr.log
    if (slash == std::string::npos || slash == 0) return std::nullopt;
    const std::size_t above = path.find_last_of('/', slash - 1);
    const std::size_t from = above == std::string::npos ? 0 : above + 1;
    return whole(path.substr(from, slash - from));
  }
  const std::size_t end = std::min(name.find_first_not_of("0123456789", digit), name.size());
  if (end < name.size() && name[end] != '.') return std::nullopt;
  std::string_view before(name.data(), digit);
  while (!before.empty() && std::string_view("._-").find(before.back()) != std::string_view::npos) {
    before.remove_suffix(1);
  }
  constexpr std::string_view kWords[] = {"workerlog", "rank", "r",   "w",   "worker",
                                         "trainer",   "out",  "log", "err", ""};
  const bool known = std::any_of(std::begin(kWords), std::end(kWords),
                                 [&](std::string_view word) { return before == word; }) ||
                     ends_with(before, "rank");
  return known ? whole(name.substr(digit, end - digit)) : std::nullopt;
}

bool is_progress_line(std::string_view line) {
  constexpr std::string_view kWords[] = {"loss",         "ips: ",  "it/s",           "s/it",
                                         "Loss",         "epoch:", "dataloader has", "samples/s",
                                         "batch_cost",   "Epoch ", "global_step",    "\" 200 OK",
                                         "succeeded in "};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view word) { return contains(line, word); });
}

namespace {

// "[2] ...", " 2: ...", "[1,2]<stderr>: ...": the task that a launcher names before a line.
std::optional<int> rank_before_line(std::string_view line) {
  line = line.substr(std::min(line.find_first_not_of(' '), line.size()));
  const bool bracket = starts_with(line, "[");
  if (bracket) line.remove_prefix(1);
  const auto number = [&]() -> std::optional<int> {
    constexpr std::size_t kMaxDigits = 4;
    std::size_t end = 0;
    int task = 0;
    for (; end < std::min(line.size(), kMaxDigits) && line[end] >= '0' && line[end] <= '9'; ++end) {
      task = task * 10 + (line[end] - '0');
    }
    line.remove_prefix(end);
    return end > 0 ? std::optional<int>(task) : std::nullopt;
  };
  std::optional<int> rank = number();
  if (rank && bracket && starts_with(line, ",")) {
    line.remove_prefix(1);
    rank = number();
    return starts_with(line, "]<std") ? rank : std::nullopt;
  }
  const std::string_view mark = bracket ? "] " : ": ";
  if (!rank || !starts_with(line, mark) || line.size() < 3) return std::nullopt;
  const char next = line[2];  // "[1] + 411 killed" is a shell's, "3: 0x7f" a backtrace's
  return (next >= 'A' && next <= 'z') ? rank : std::nullopt;
}

std::optional<int> rank_of_text(std::string_view line) {
  const std::optional<int> rank = rank_of_line(line);
  constexpr std::string_view kWorker = "workerlog.";  // "workerlog.3: ...", as grep and tail put it
  if (!rank && starts_with(line, kWorker)) {
    return rank_of_file(std::string(line.substr(0, line.find(':'))));
  }
  return rank ? rank : rank_before_line(line);
}

// What ends a traceback, although no row knows its name.
const SignatureMatch& exception_match() {
  static const SignatureMatch kMatch = [] {
    const auto& table = signature_table();
    const auto row = std::find_if(table.begin(), table.end(), [](const SignatureRow& one) {
      return one.id == std::string_view("exception_line");
    });
    OCRTUNE_CHECK(row != table.end());
    return SignatureMatch{&*row, static_cast<int>(row - table.begin()), {}};
  }();
  return kMatch;
}

}  // namespace

struct LogScanner::State {
  LogScan scan;
  using Key = std::pair<int, int>;  // row of the signature table, rank or -1
  std::map<Key, Finding> findings;
  std::map<Key, std::int64_t> progress;  // progress lines before the finding's last line
  PrintedConfig config;
  LauncherReport report;
  Tracebacks tracebacks;
  std::string rest;             // an unfinished line
  std::string tail;             // the end of what was scanned
  std::string dated;            // start of the last line that looked dated, of earlier blocks
  std::string_view dated_here;  // the same, of this block
  bool failing_since_start = false;
  Asked asked = Asked::nothing;  // by the line before
  std::optional<Utf16Decoder> utf16;
  int odd_bytes = 0, first_bytes = 0;

  void look_at_first_bytes(std::string_view bytes);
  void take_block(std::string_view block);
  void keep_tail(std::string_view block);
  void take_last_lines();
  void take_line(std::string_view line, bool hot);
  void take_progress(std::string_view line);
  void take_match(const SignatureMatch& match, const LogLine& line);
  std::vector<SignatureMatch> matches_of(std::string_view line, bool hot);
  LogLine line_of(std::string_view text) const;
};

void LogScanner::State::look_at_first_bytes(std::string_view bytes) {
  if (first_bytes == 0) utf16 = Utf16Decoder::of_first_bytes(bytes);
  for (std::size_t i = 0; i < bytes.size() && first_bytes < 65536; ++i, ++first_bytes) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    if (c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\x1b' && c != '\b') ++odd_bytes;
  }
}

LogLine LogScanner::State::line_of(std::string_view text) const {
  LogLine line;
  line.number = scan.lines + 1;
  line.text = kept_text(text);
  line.when = parse_log_time(text);
  line.dated = line.when.has_value();
  if (!line.when) line.when = parse_log_time(dated_here.empty() ? dated : dated_here);
  return line;
}

void LogScanner::State::take_match(const SignatureMatch& match, const LogLine& line) {
  std::optional<int> rank = rank_of_text(line.text);
  Key key{match.index, rank.value_or(-1)};
  if (rank && findings.count(key) == 0 && findings.size() > kMaxRanks * 8) {
    rank.reset();
    key.second = -1;
  }
  Finding& finding = findings[key];
  if (finding.count++ == 0) {
    finding.signature = match.signature;
    finding.rank = rank ? rank : scan.rank;
    finding.first = line;
    finding.captures = match.captures;
  }
  finding.last = line;
  finding.earlier_run = false;
  progress[key] = scan.progress_lines;
  if (!match.captures.empty() && !match.captures[0].empty() &&
      finding.subjects.size() < kKeptSubjects &&
      std::find(finding.subjects.begin(), finding.subjects.end(), match.captures[0]) ==
          finding.subjects.end()) {
    finding.subjects.push_back(match.captures[0]);
  }
}

void LogScanner::State::take_progress(std::string_view line) {
  scan.progress_lines += 1;
  if (scan.progress_lines % 16 == 1 || scan.progress_lines < 16) scan.last_progress = line_of(line);
  scan.last_progress.number = scan.lines + 1;
  for (const StepWords& words : kStepWords) {
    const auto reader = number_after(line, words.reader);
    if (!reader) continue;
    const auto step = number_after(line, words.step);
    if (step && scan.progress_lines > 1) {
      scan.reader_seconds += *reader;
      scan.batch_seconds += *step;
    }
    return;
  }
}

// Keeps what the line matches.
std::vector<SignatureMatch> LogScanner::State::matches_of(std::string_view line, bool hot) {
  std::vector<SignatureMatch> matches;
  if (report.open() || (hot && LauncherReport::begins(line))) {
    report.take_line(line, scan.lines + 1);
  }
  // Older launchers dump their whole environment in one line when a rank fails.
  if (hot && !starts_with(line, "env {") && may_match(line) && !is_typed_command(line)) {
    matches = match_line(line);
  }
  if (matches.empty() && !tracebacks.open()) return matches;
  const std::optional<RaisedAt> raised = tracebacks.take_line(line);
  const auto is = [](const char* id) {
    return
        [id](const SignatureMatch& match) { return match.signature->id == std::string_view(id); };
  };
  // PaddleOCR tells so why it takes another sample, and goes on.
  const bool skipped = contains(line, "error happened with msg");
  if (!skipped && std::any_of(matches.begin(), matches.end(), is("traceback"))) {
    tracebacks.begin(line);
  }
  if (raised && std::none_of(matches.begin(), matches.end(), is("exception_line"))) {
    matches.push_back(exception_match());
  }
  if (matches.empty()) return matches;
  LogLine kept = line_of(line);
  if (raised) kept.raised = *raised;
  for (const SignatureMatch& match : matches) take_match(match, kept);
  return matches;
}

void LogScanner::State::take_line(std::string_view line, bool hot) {
  if (trim(line).empty()) return;
  const char lead = line[0];
  const bool of_rank = starts_with(line, "[rank") && !contains(line.substr(0, 16), "]:[");
  if ((lead == '[' && !of_rank) || (lead >= '0' && lead <= '9') ||
      (line.size() > 5 && line[5] == ' ') || contains(line.substr(0, 48), " 20")) {
    dated_here = line.substr(0, 64);
  }
  std::string plain;
  if (line.find('\x1b') != std::string_view::npos) {
    plain = without_colours(line);
    line = plain;
  }
  std::string answer;
  if (asked != Asked::nothing) {
    answer = named_answer(asked, line);
    line = answer;
  }
  asked = hot ? asked_by(line) : Asked::nothing;
  bool failing = false, ended = false;
  bool alone = false;  // nothing that all ranks do
  for (const SignatureMatch& match : matches_of(line, hot)) {
    const Role role = match.signature->role;
    alone = alone || role == Role::activity;
    ended = ended || role == Role::finish;
    failing = failing || (role != Role::note && role != Role::activity && role != Role::finish);
  }
  failing_since_start = failing_since_start || failing;
  if (!failing && !alone && is_progress_line(line)) take_progress(line);
  if (scan.progress_lines < 8) config.take_line(line);
  if (ended) scan.finished = true;
  if (failing) scan.finished = false;
  if (failing_since_start && is_run_start(line)) {
    for (auto& [key, finding] : findings) finding.earlier_run = true;
    failing_since_start = false;
  }
}

void LogScanner::State::keep_tail(std::string_view block) {
  if (block.size() >= kTail) tail.clear();
  tail.append(block.substr(block.size() - std::min(block.size(), kTail)));
  if (tail.size() > 2 * kTail) tail.erase(0, tail.size() - kTail);
}

// Once the whole log is scanned.
void LogScanner::State::take_last_lines() {
  std::string_view text = tail;
  std::int64_t number = scan.lines;
  if (ends_with(text, "\n")) text.remove_suffix(1);
  while (scan.last_lines.size() < kLastLines) {
    const std::size_t newline = text.find_last_of("\n\r");
    const std::size_t from = newline == std::string_view::npos ? 0 : newline + 1;
    LogLine line;
    line.number = number;
    line.text = kept_text(without_colours(text.substr(from, kKeptText)));
    if (!line.text.empty()) scan.last_lines.push_back(std::move(line));
    if (from == 0) break;
    number -= text[newline] == '\n' ? 1 : 0;
    text = text.substr(0, newline);
  }
  std::reverse(scan.last_lines.begin(), scan.last_lines.end());
}

// A block is whole lines, the last one perhaps cut.
void LogScanner::State::take_block(std::string_view block) {
  const std::optional<std::string> read = without_gbk(block);
  if (read) block = *read;
  keep_tail(block);
  const bool coloured = block.find('\x1b') != std::string_view::npos;
  const bool hot = coloured || may_match(block);
  std::string_view last;
  while (!block.empty()) {
    const std::size_t end = line_end(block);
    std::string_view line = block.substr(0, end);
    if (!trim(line).empty()) {
      last = line.substr(0, kKeptText);
      scan.last_line.number = scan.lines + 1;
    }
    for (; line.size() > kLongestLine; line.remove_prefix(kLongestLine - 512)) {
      take_line(line.substr(0, kLongestLine), hot);
    }
    take_line(line, hot);
    if (end == block.size()) break;
    if (block[end] == '\n') scan.lines += 1;
    block.remove_prefix(end + 1);
  }
  if (!last.empty()) scan.last_line.text.assign(last);
  if (!dated_here.empty()) dated.assign(dated_here);
  dated_here = {};
}

LogScanner::LogScanner(std::string file) : state_(std::make_unique<State>()) {
  state_->scan.rank = rank_of_file(file);
  state_->scan.file = std::move(file);
}
LogScanner::~LogScanner() = default;
LogScanner::LogScanner(LogScanner&&) noexcept = default;

void LogScanner::feed(std::string_view bytes) {
  State& state = *state_;
  state.look_at_first_bytes(bytes);
  state.scan.bytes += static_cast<std::int64_t>(bytes.size());
  std::string text;
  if (state.utf16) {
    text = state.utf16->decode(bytes);
    bytes = text;
  }
  state.rest.append(bytes);
  const std::size_t end = state.rest.find_last_of("\n\r");
  if (end == std::string::npos && state.rest.size() < kBlock) return;
  const std::size_t whole = end == std::string::npos ? state.rest.size() : end + 1;
  state.take_block(std::string_view(state.rest).substr(0, whole));
  state.rest.erase(0, whole);
}

LogScan LogScanner::finish() {
  State& state = *state_;
  LogScan& scan = state.scan;
  if (!state.rest.empty()) {
    state.take_block(state.rest);
    scan.lines += 1;
  }
  scan.last_line.when = parse_log_time(scan.last_line.text);
  scan.last_line.dated = scan.last_line.when.has_value();
  if (!scan.last_line.when) scan.last_line.when = parse_log_time(state.dated);
  scan.last_line.text = kept_text(without_colours(scan.last_line.text));
  state.take_last_lines();
  scan.config = state.config.values();
  scan.first_failures = state.report.failures();
  scan.binary = !state.utf16 && state.odd_bytes * 10 > state.first_bytes;
  for (auto& [key, finding] : state.findings) {
    finding.progress_after = scan.progress_lines - state.progress[key];
    finding.lines_after = scan.lines - finding.last.number;
    scan.findings.push_back(std::move(finding));
  }
  return std::move(scan);
}

LogScan scan_text(const std::string& file, std::string_view text) {
  LogScanner scanner(file);
  scanner.feed(text);
  return scanner.finish();
}

Result<LogScan> scan_log(const std::string& path) {
  const int descriptor =
      path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return system_error(errno, "open " + path);
  LogScanner scanner(path == "-" ? "standard input" : path);
  std::vector<char> block(kBlock);
  std::optional<Error> error;
  for (bool first = true; !error; first = false) {
    const ssize_t got = ::read(descriptor, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error = system_error(errno, "read " + path);
    if (got <= 0) break;
    const std::string_view bytes(block.data(), static_cast<std::size_t>(got));
    if (first && (starts_with(bytes, "\x1f\x8b") || starts_with(bytes, "\x28\xb5\x2f\xfd") ||
                  starts_with(bytes, "BZh") ||
                  starts_with(bytes,
                              "\xfd"
                              "7zXZ"))) {
      error = Error{ErrorKind::invalid, path + " is compressed: zcat (or zstdcat, xzcat) " + path +
                                            " | ocrtune diagnose -"};
    }
    if (!error) scanner.feed(bytes);
    if (interrupted()) error = Error{ErrorKind::interrupted, "interrupted while reading " + path};
  }
  ::close(descriptor);
  if (error) return *error;
  return scanner.finish();
}

namespace {

constexpr int kDeepest = 4;
constexpr std::size_t kMost = 2000;

bool is_log_name(const std::string& name) {
  if (starts_with(name, "envlog.") || starts_with(name, "backup_env")) return false;
  if (starts_with(name, "workerlog.") || starts_with(name, "serverlog.")) return true;
  if (name == "stdout" || name == "stderr" || name == "log" || starts_with(name, "dmesg")) {
    return true;
  }
  constexpr std::string_view kEnds[] = {".log", ".out", ".err", ".txt"};
  return std::any_of(std::begin(kEnds), std::end(kEnds),
                     [&](std::string_view end) { return ends_with(name, end); }) &&
         !ends_with(name, ".gpu.log");
}

Status collect(const std::string& directory, int depth, std::vector<std::string>& logs) {
  auto names = OCRTUNE_TRY(list_directory(directory));
  for (const std::string& name : names) {
    const std::string path = join_path(directory, name);
    if (is_directory(path)) {
      if (depth < kDeepest && name[0] != '.') {
        const Status status = collect(path, depth + 1, logs);
        if (!status && status.error().kind != ErrorKind::denied) return status;
      }
    } else if (is_log_name(name) && logs.size() < kMost) {
      logs.push_back(path);
    }
  }
  return Status();
}

}  // namespace

Result<std::vector<std::string>> find_logs(const std::string& directory) {
  std::vector<std::string> logs;
  OCRTUNE_TRY(collect(directory, 1, logs));
  std::sort(logs.begin(), logs.end());
  return logs;
}

}  // namespace ocrtune
