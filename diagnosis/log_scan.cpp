// The route: bytes are decoded and cut into blocks of whole lines. Each block is asked whether
// anything can match, and only then its lines are. All that is kept is bounded.
#include "diagnosis/log_scan.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include <re2/re2.h>

#include "base/check.h"
#include "base/text.h"
#include "diagnosis/causes.h"
#include "diagnosis/context/card_report.h"
#include "diagnosis/context/line_origin.h"
#include "diagnosis/context/payload.h"
#include "diagnosis/context/read_texts.h"
#include "diagnosis/context/runs.h"
#include "diagnosis/context/source.h"
#include "diagnosis/log_matcher.h"

namespace ocrtune {
namespace {

constexpr std::size_t kBlock = 64UL * 1024;        // log_files.cpp reads as much at once
constexpr std::size_t kPart = 2048;                // of a block of which something matches
constexpr std::size_t kLongestLine = 16UL * 1024;  // longer ones are looked at in pieces
constexpr std::size_t kKeptText = 500;
constexpr std::size_t kKeptSubjects = 16;
constexpr std::size_t kMaxRanks = 64;  // of one signature in one file
constexpr int kFirstLines = 200;       // that say what the file is
constexpr std::int64_t kGoesOn = 3;    // steps after a line: the program works on
constexpr int kHotBlocks = 32;         // that are asked for the programs that wrote them

constexpr std::string_view kServerStarted = "Started server process [";

// Signatures of messages that may go on in the next line.
constexpr std::string_view kMessages =
    " exception_line rust_panic cpp_terminate foreign_exception error_word ";

bool contains(std::string_view text, std::string_view word) {
  return ::memmem(text.data(), text.size(), word.data(), word.size()) != nullptr;
}

// Up to the first '\n' or '\r', or the block's end. Two memchr calls beat a byte loop by far.
std::size_t line_end(std::string_view block) {
  const std::size_t newline = std::min(block.find('\n'), block.size());
  return std::min(block.substr(0, newline).find('\r'), newline);
}

// How a whole output names what a typed command answers with a bare word; "": it asks nothing so.
std::string_view asked_by(std::string_view line) {
  if (contains(line, ".OOMKilled}}")) return R"("OOMKilled": )";
  return contains(line, "echo $?") ? "exit code " : "";
}

std::string kept_text(std::string_view text) {
  std::string out = valid_utf8(text.substr(0, kKeptText));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return std::string(trim(out));
}

// What ends a traceback, although no row knows its name.
const SignatureMatch& exception_match() {
  static const SignatureMatch kMatch = [] {
    const auto& table = signature_table();
    const auto row = std::ranges::find_if(
        table, [](const SignatureRow& one) { return one.id == "exception_line"; });
    OCRTUNE_CHECK(row != table.end());
    return SignatureMatch{&*row, static_cast<int>(row - table.begin()), {}};
  }();
  return kMatch;
}

}  // namespace

// `"POST /ocr HTTP/1.1" 200 OK`, "POST /read 200 208.9ms", "Task x succeeded in 3 s".
bool is_answer(std::string_view line) {
  return contains(line, "\" 200") || contains(line, "succeeded in ") ||
         (contains(line, " 200 ") && (contains(line, "POST /") || contains(line, "GET /")));
}

bool is_progress_line(std::string_view line) {
  constexpr std::string_view kWords[] = {
      // first what stands at the start of a line
      "epoch:",      "Epoch ", "loss",           "ips: ",          "it/s",
      "s/it",        "Loss",   "dataloader has", "samples/s",      "batch_cost",
      "global_step", "BCER",   "succeeded in ",  "Accuracy report"};
  return is_answer(line) ||
         std::ranges::any_of(kWords, [&](std::string_view word) { return contains(line, word); });
}

struct LogScanner::State {
  LogScan scan;
  // Row of the signature table; rank, or -2 and below: a process without a rank; -1: nobody.
  using Key = std::pair<int, int>;
  struct Told {  // what a line matches
    std::vector<SignatureMatch> matches;
    LogLine line;
    LineOrigin origin;
    bool asked = false;  // it answers what somebody typed
  };
  std::map<Key, Finding> findings;
  std::map<std::string, int> actors;
  LauncherReport report;
  Tracebacks tracebacks;
  StepCostReader costs;
  CardReport cards;
  SourceLines first_lines;
  PayloadBlock payload;
  ReadTexts texts;
  std::vector<Told> in_payload;  // counts unless the program ends the block
  int payload_blocks = 0;
  std::map<const SignatureRow*, int> quoted_lines;  // of the blocks that the program ended
  std::string rest;                                 // an unfinished line
  std::string heading;            // of the file whose lines these are, in a log of several
  std::string dated;              // start of the last line that looked dated, of earlier blocks
  std::string_view dated_here;    // the same, of this block
  std::set<std::string> scripts;  // that were typed at a prompt
  std::string head;               // of the log: the line that its runs begin with
  std::vector<bool> run_spoke = {false};  // it failed, stepped or came to its end
  std::int64_t run_progress = 0;          // progress lines of this run
  bool failing_since_start = false;
  bool announces_ignored = false;  // the line before: what is raised next ends nothing
  bool indented = false;           // likewise
  std::string speaker;             // the process named above the lines of a traceback
  std::optional<std::int64_t> step_at_failure;
  std::vector<Key> unfinished;  // of a message of the line before: this one may belong to it
  std::string_view asked;       // by the line before
  int odd_bytes = 0, first_bytes = 0, asked_blocks = 0, servers_started = 0;

  void look_at_first_bytes(std::string_view bytes);
  void take_block(std::string_view block);
  void take_line(std::string_view line, bool hot, bool may_fit);
  void take_progress(std::string_view line);
  void take_matches(const Told& told);
  Key take_match(const SignatureMatch& match, const Told& told);
  void continue_message(std::string_view line);
  void begin_run();
  void drop_payload();
  bool stopped_by(int min_tier) const;
  bool begins_anew(std::string_view line) const;
  void date_last_state(std::string_view line);
  Told told_by(std::string_view line, bool hot, bool may_fit);
  LogLine line_of(std::string_view text) const;
  bool went_on_to_its_end() const;
};

void LogScanner::State::look_at_first_bytes(std::string_view bytes) {
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

LogScanner::State::Key LogScanner::State::take_match(const SignatureMatch& match,
                                                     const Told& told) {
  std::optional<int> rank = told.origin.rank;
  Key key{match.index, rank.value_or(-1)};
  if (const std::string& actor = told.origin.actor; !actor.empty()) {
    key.second = actors.emplace(actor, -2 - static_cast<int>(actors.size())).first->second;
  }
  // Beyond so many findings ranks no longer stand apart: memory is bounded.
  if (key.second != -1 && findings.count(key) == 0 && findings.size() > kMaxRanks * 8) {
    rank.reset();
    key.second = -1;
  }
  Finding& finding = findings[key];
  const int run = static_cast<int>(run_spoke.size()) - 1;
  if (finding.run != run) finding = Finding();  // of an earlier run: this one tells it anew
  if (finding.count++ == 0) {
    finding.signature = match.signature;
    finding.rank = rank ? rank : scan.rank;
    finding.actor = key.second == -1 ? "" : told.origin.actor;
    finding.first = told.line;
    finding.captures = match.captures;
    finding.run = run;
  }
  finding.last = told.line;
  finding.progress_after = -scan.progress_lines;  // what came before, until all is known
  finding.served_after = -scan.served_lines;
  if (!match.captures.empty() && !match.captures[0].empty() &&
      finding.subjects.size() < kKeptSubjects &&
      std::ranges::find(finding.subjects, match.captures[0]) == finding.subjects.end()) {
    finding.subjects.push_back(match.captures[0]);
  }
  return key;
}

// "RuntimeError: Exception from core.cpp:109:" says what failed in the lines below, and so does
// "terminate called after throwing an instance of 'E'" in the indented one.
void LogScanner::State::continue_message(std::string_view line) {
  const std::string_view text = origin_of(line).text, more = trim(text);
  const bool below = !more.empty() && more.size() < text.size() && text[0] <= ' ' &&
                     !starts_with(more, "at ") && !starts_with(more, "File \"") && more[0] != '^';
  std::erase_if(unfinished, [&](const Key& key) {
    Finding& finding = findings[key];
    if (!below && !ends_with(finding.last.text, ":")) return true;
    finding.last.text = kept_text(finding.last.text + " " + std::string(more));
    if (finding.count == 1) finding.first.text = finding.last.text;
    return !ends_with(finding.last.text, ":");
  });
}

void LogScanner::State::begin_run() {
  run_spoke.push_back(false);
  run_progress = 0;
  failing_since_start = false;
  step_at_failure.reset();
  scan.finished = false;
}

void LogScanner::State::drop_payload() {
  for (const Told& told : in_payload) quoted_lines[told.matches[0].signature] += 1;
  in_payload.clear();
}

void LogScanner::State::take_progress(std::string_view line) {
  constexpr std::int64_t kFewest = 3;  // steps: less is a start
  constexpr std::int64_t kAll = 64, kEach = 16;
  scan.progress_lines += 1;
  scan.served_lines += is_answer(line);
  run_progress += 1;
  if (failing_since_start && step_at_failure &&
      (run_progress < kAll || run_progress % kEach == 0)) {
    const std::optional<std::int64_t> step = step_of(line);
    if (step && *step * 2 <= *step_at_failure) begin_run();
  }
  if (run_progress == kFewest) run_spoke.back() = true;
  if (scan.progress_lines % 16 == 1 || scan.progress_lines < 16) scan.last_progress = line_of(line);
  scan.last_progress.number = scan.lines + 1;
  costs.take_line(line);
}

// The line "Finished:" of a described pod's last state dates what stands above it.
void LogScanner::State::date_last_state(std::string_view line) {
  constexpr std::int64_t kState = 5;  // lines
  if (!starts_with(trim(line), "Finished: ")) return;
  const std::optional<double> when = parse_log_time(line);
  for (auto& [key, finding] : findings) {
    if (!when || finding.last.number + kState < scan.lines) continue;
    for (LogLine* told : {&finding.first, &finding.last}) {
      told->when = when;
      told->dated = true;
    }
  }
}

// A server says that it started after what it met on the way: the first time begins nothing, unless
// a traceback ended what was before.
bool LogScanner::State::begins_anew(std::string_view line) const {
  if (!begins_a_run(line)) return false;
  return servers_started != 1 || !contains(line, kServerStarted) ||
         std::ranges::any_of(
             findings, [](const auto& one) { return one.second.signature->id == "traceback"; });
}

// Whether what failed, of this tier at least, was followed by no step.
bool LogScanner::State::stopped_by(int min_tier) const {
  return std::ranges::any_of(findings, [&](const auto& one) {  // progress_after is negative so far
    return tier(one.second.signature->role) >= min_tier &&
           one.second.progress_after == -scan.progress_lines;
  });
}

// A bare word in the last line, after steps that followed all that failed, is the end of the run.
bool LogScanner::State::went_on_to_its_end() const {
  static const re2::RE2 kBareEnd(
      R"((?i)^(?:.*[\]:|-] |[\d:., -]+)?(?:all )?(?:done|finished|completed?|bye)[.! ]*$)");
  return scan.progress_lines > 0 && !stopped_by(1) &&
         re2::RE2::PartialMatch(trim(scan.last_line.text), kBareEnd);
}

// What the line says in the program's own words. `hot`: something of its block may match, and
// `may_fit`: of its part of the block.
LogScanner::State::Told LogScanner::State::told_by(std::string_view line, bool hot, bool may_fit) {
  Told told;
  const bool ignored =
      std::exchange(announces_ignored, hot && contains(line, "Exception ignored "));
  const bool goes_on = std::exchange(indented, starts_with(line, " ")) || indented ||
                       tracebacks.open() || starts_with(line, "Traceback ");
  if (!goes_on) speaker.clear();
  const auto name_writer = [&](LineOrigin& origin) {
    if (!origin.rank && origin.actor.empty()) {
      origin.actor = speaker.empty() ? heading : speaker;
    } else {
      speaker = origin.actor;
    }
  };
  if (report.open() || (hot && LauncherReport::begins(line))) report.take_line(line);
  // Older launchers dump their whole environment in one line when a rank fails.
  if (may_fit && !starts_with(line, "env {") && may_match(line)) {
    const std::optional<std::string> own = without_payload(line);
    told.origin = origin_of(own ? *own : line);
    if (!own || may_match(*own)) told.matches = match_line(own ? *own : line, told.origin.text);
    told.origin.text = told.origin.host = {};  // they point into `own`
    name_writer(told.origin);
    if (is_typed_command(line)) {
      std::erase_if(told.matches, [](const auto& one) {
        return one.signature->cause != "runs_on_cpu";  // whether a card is asked for
      });
    }
  }
  if (told.matches.empty() && !tracebacks.open()) return told;
  const std::optional<RaisedAt> raised = tracebacks.take_line(line);
  const auto is = [](std::string_view id) {
    return [id](const SignatureMatch& match) { return match.signature->id == id; };
  };
  // PaddleOCR tells so why it takes another sample, and goes on.
  const bool skipped = contains(line, "error happened with msg");
  if (!skipped && std::ranges::any_of(told.matches, is("traceback"))) {
    tracebacks.begin(line, ignored);
    if (ignored) told.matches.clear();
  }
  if (raised && raised->ignored) {
    std::erase_if(told.matches, [](const auto& match) { return tier(match.signature->role) < 3; });
  } else if (raised && std::ranges::none_of(told.matches, is(exception_match().signature->id))) {
    if (told.matches.empty()) name_writer(told.origin = origin_of(line));
    told.matches.push_back(exception_match());
  }
  // A launcher sums up what its children did, a loader what its worker raised.
  if (contains(line, "ChildFailedError") || contains(line, " in DataLoader worker process ")) {
    std::erase_if(told.matches, is("exception_line"));
  }
  if (told.matches.empty()) return told;
  told.line = line_of(line);
  if (raised) told.line.raised = *raised;
  return told;
}

void LogScanner::State::take_matches(const Told& told) {
  bool failing = false, ended = false, telling = false, only_kernel = true;
  const bool opens = unfinished.empty() && std::ranges::any_of(told.matches, [](const auto& match) {
                       return listed(kMessages, match.signature->id);
                     });
  for (const SignatureMatch& match : told.matches) {
    const Key key = take_match(match, told);
    if (opens) unfinished.push_back(key);
    const Role role = match.signature->role;
    ended = ended || role == Role::finish;
    failing = failing || (role != Role::note && role != Role::activity && role != Role::finish);
    telling = telling || tier(role) >= 2 || match.signature == exception_match().signature;
    only_kernel = only_kernel && starts_with(match.signature->id, "kernel_");
  }
  // PaddleOCR tells its last error and exits with 0: asked of the shell, the code says less.
  const bool by_error = told.asked && stopped_by(3);
  scan.exited_with_zero = scan.exited_with_zero || (ended && by_error);
  if (ended && !by_error) scan.finished = true;
  // A kernel's log is mostly pasted after the end, and warnings of a shutdown end nothing.
  if (failing && !only_kernel && !is_warning(told.line.text)) scan.finished = false;
  if (failing && !failing_since_start) {
    failing_since_start = true;
    step_at_failure = step_of(scan.last_progress.text);
  }
  if (telling || ended) run_spoke.back() = true;  // that it failed says nothing anew
}

void LogScanner::State::take_line(std::string_view line, bool hot, bool may_fit) {
  if (trim(line).empty()) return;
  const char lead = line[0];
  const bool of_rank = starts_with(line, "[rank") && !contains(line.substr(0, 16), "]:[");
  if ((lead == '[' && !of_rank) || (lead >= '0' && lead <= '9') ||
      (line.size() > 5 && line[5] == ' ') ||
      (line.size() > 9 && line[6] == ' ' && line[9] == ':') ||
      contains(line.substr(0, 48), " 20")) {
    dated_here = line.substr(0, 64);
    if (!scan.first_when) scan.first_when = parse_log_time(line);
  }
  if (scan.lines < kFirstLines) {
    first_lines.take_line(line);
    if (std::string name = listed_object(line); !name.empty()) scan.listed.push_back(name);
  }
  std::string plain;
  if (line.find('\x1b') != std::string_view::npos) {
    plain = without_colours(line);
    line = plain;
  }
  std::string answer;
  if (!asked.empty() && (starts_with(line, "true") || starts_with(line, "false") ||
                         line.find_first_not_of("0123456789") == std::string_view::npos)) {
    answer = std::string(asked).append(line);
    line = answer;
  }
  const bool typed = hot && is_typed_command(line);
  asked = typed ? asked_by(line) : "";
  if (starts_with(line, "==> ") || starts_with(line, "GPU 0000")) heading = heading_of(line);
  if (scan.described.empty() && starts_with(line, "Name:  ")) scan.described = trim(line.substr(5));
  const std::string card = may_fit || cards.open() ? cards.take_line(line) : "";
  if (!card.empty()) line = card;
  if (!unfinished.empty()) continue_message(line);
  if (texts.take_line(line) && !scan.rubbish) scan.rubbish = line_of(line);
  if (!scan.described.empty()) date_last_state(line);
  const bool quoted = payload.take_line(line, scan.first_when.has_value());
  const bool composed = !card.empty() || !answer.empty();
  Told told = told_by(line, hot || composed, may_fit || composed);
  told.asked = !answer.empty();
  if (quoted) {
    if (!told.matches.empty()) in_payload.push_back(std::move(told));
    return;
  }
  // A line that ends the block and tells of a failure stands behind the program's own traceback.
  const auto fails = [](const auto& match) { return tier(match.signature->role) > 0; };
  if (!std::ranges::any_of(told.matches, fails)) drop_payload();
  payload_blocks += payload.open();
  for (const Told& one : std::exchange(in_payload, {})) take_matches(one);
  take_matches(told);
  const bool step =
      is_progress_line(line) && std::ranges::all_of(told.matches, [](const auto& one) {
        return one.signature->role == Role::note || one.signature->role == Role::finish;
      });
  if (step) take_progress(line);
  // PaddleOCR prints its configuration before its first steps, what is of Train last.
  static const re2::RE2 kSetting(
      R"( INFO: +(num_workers|batch_size_per_card|first_bs|use_shared_memory) : *(\S+))");
  re2::StringPiece key, value;
  if (scan.progress_lines < 8 && re2::RE2::PartialMatch(line, kSetting, &key, &value)) {
    scan.config[std::string(key)] = std::string(value);
  }
  const std::string_view script = typed ? typed_script(line) : "";
  const bool again = !script.empty() && !scripts.emplace(script).second;
  const bool said_often = scan.lines < kHeadLines && (step || is_warning(line));
  const bool anew = !said_often && is_head_again(head, line, scan.lines, failing_since_start);
  servers_started += contains(line, kServerStarted);
  if (failing_since_start && (typed || told.matches.empty()) &&
      (again || anew || begins_anew(line))) {
    begin_run();
  }
}

// A block is whole lines, the last one perhaps cut.
void LogScanner::State::take_block(std::string_view block) {
  const bool coloured = block.find('\x1b') != std::string_view::npos;
  const bool hot = coloured || may_match(block);
  if ((hot || scan.lines == 0) && asked_blocks < kHotBlocks) {
    asked_blocks += 1;
    scan.programs |= programs_in(block);
  }
  std::string_view last;
  bool may_fit = hot;
  for (std::size_t left = 0; !block.empty();) {  // bytes of the part that was asked as a whole
    const std::size_t end = line_end(block);
    if (hot && !coloured && left == 0) {
      left = std::min(block.find('\n', std::max(end, kPart)), block.size());
      may_fit = may_match(block.substr(0, left));
    }
    std::string_view line = block.substr(0, end);
    if (!trim(line).empty()) {
      last = line.substr(0, kKeptText);
      scan.last_line.number = scan.lines + 1;
    }
    for (; line.size() > kLongestLine; line.remove_prefix(kLongestLine - 512)) {
      take_line(line.substr(0, kLongestLine), hot, may_fit);
    }
    take_line(line, hot, may_fit);
    if (end == block.size()) break;
    if (block[end] == '\n') scan.lines += 1;
    block.remove_prefix(end + 1);
    left -= std::min(left, end + 1);
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

void LogScanner::feed(std::string_view bytes) {
  State& state = *state_;
  state.look_at_first_bytes(bytes);
  state.scan.bytes += static_cast<std::int64_t>(bytes.size());
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
    scan.cut_off = true;
    state.take_block(state.rest);
    scan.lines += 1;
  }
  // What one of many pages held stands there as well: what fails at each of them is no text.
  for (const auto& told : state.in_payload) {
    const int before = state.quoted_lines[told.matches[0].signature];
    if (before == 0 || 2 * before >= state.payload_blocks) state.take_matches(told);
  }
  // A bar that stops at ^C was interrupted: its line is read again as the last one of the log.
  if (ends_with(trim(scan.last_line.text), "^C") && scan.progress_lines > 0) {
    const std::int64_t lines = std::exchange(scan.lines, scan.last_line.number - 1);
    state.take_line(scan.last_line.text + "   (the log ends there)", true, true);
    scan.lines = lines;
  }
  const std::int64_t last_number = scan.last_line.number;
  scan.finished = scan.finished || state.went_on_to_its_end();
  scan.last_line = state.line_of(without_colours(scan.last_line.text));
  scan.last_line.number = last_number;
  scan.first_failures = state.report.failures();
  scan.children = state.report.children();
  scan.costs = state.costs.costs();
  if (!state.texts.are_rubbish()) scan.rubbish.reset();
  if (state.first_lines.is_kernel()) scan.kind = SourceKind::kernel;
  if (state.first_lines.is_document()) scan.kind = SourceKind::document;
  if (state.odd_bytes * 10 > state.first_bytes) scan.kind = SourceKind::binary;
  // The last run decides, unless it has only begun.
  const auto spoke = std::find(state.run_spoke.rbegin(), state.run_spoke.rend(), true);
  const auto decides = static_cast<int>(state.run_spoke.rend() - spoke) - 1;
  for (auto& [key, finding] : state.findings) {
    finding.earlier_run = finding.run < decides;
    finding.progress_after += scan.progress_lines;
    finding.served_after += scan.served_lines;
    finding.lines_after = scan.lines - finding.last.number;
    finding.over = finding.earlier_run || finding.progress_after >= kGoesOn;
    // The events that such a document lists below it came before.
    if (finding.signature->id == "finish_state") scan.finished = scan.succeeded = true;
    if (finding.signature->id == "finish_exit" && !finding.earlier_run) {
      scan.succeeded = scan.succeeded || scan.finished;
    }
    scan.findings.push_back(std::move(finding));
  }
  if (scan.kind >= SourceKind::document) {
    scan.findings.clear();
    scan.costs = {};
  }
  return std::move(scan);
}

std::vector<Seen> seen(const std::vector<LogScan>& logs, std::string_view signatures) {
  std::vector<Seen> all;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    for (const Finding& finding : logs[i].findings) {
      if (finding.earlier_run || !listed(signatures, finding.signature->id)) continue;
      all.push_back({static_cast<int>(i), &finding});
    }
  }
  return all;
}

LogScan scan_text(const std::string& file, std::string_view text) {
  LogScanner scanner(file);
  scanner.feed(text);
  return scanner.finish();
}

}  // namespace ocrtune
