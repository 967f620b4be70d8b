// Clues are collected first (hear_), then doubted and settled against each other, and summed up for
// each cause last. The order of rank() is part of the method: what a later step asks about clues
// rests on the weights that the earlier ones left. Factors and bounds here are set by hand and
// checked on the told logs of tests/fixtures/diagnosis.
#include "diagnosis/cause_ranker.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <re2/re2.h>

#include "base/tables/rows.h"
#include "base/text.h"
#include "diagnosis/consequences.h"
#include "diagnosis/log_matcher.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxEvidence = 6;
// No log makes it certain.
constexpr double kSurest = 0.98;

// Names something that is missing or odd, which may be no more than a remark.
bool is_remark(const Clue& clue) {
  if (clue.role == Role::proof || clue.role == Role::at_end) return false;
  return clue.signature == "c_no_such_file" || is_warning(clue.line.text);
}

// No program needs the library of NVIDIA's tools, nor NCCL a plugin, nor DeepSpeed the very CUDA,
// nor anybody what is optional: they say so and go on. And who may not read the kernel's log was
// looking for a cause. A list of what may be why is no word of what was.
bool is_accepted(const std::string& line) {
  static const re2::RE2 kWords(
      R"(libnvidia-ml|libnccl-net|\b(?:py-spy|gdb|strace|perf|lsof|htop|nvtop|iotop|numastat): (?:command )?not found|\b404 GET /|dmesg: read kernel buffer failed|accepting this combination|will proceed with training with local|'paddle\.fluid\.core_avx'|is optional and|optional dependency|If you don't plan on using|ommon (?:causes|reasons) (?:include|are))");
  return re2::RE2::PartialMatch(line, kWords);
}

bool is_no_failure(const Finding& finding) {
  return finding.signature->role == Role::activity || finding.signature->role == Role::finish;
}

// Keeps, of the signatures that first, or last, matched on one line, the most telling one.
std::vector<const Finding*> telling_findings(const LogScan& log) {
  std::map<std::int64_t, const Finding*> firsts, lasts;
  const auto rank = [](const Finding* f) {
    const bool clean_up = f->signature->role == Role::consequence;  // beats what says little
    return std::pair(clean_up ? 1.5 : tier(f->signature->role), f->signature->weight);
  };
  for (const Finding& finding : log.findings) {
    if (is_no_failure(finding)) continue;
    const Finding *&first = firsts[finding.first.number], *&last = lasts[finding.last.number];
    if (first == nullptr || rank(&finding) > rank(first)) first = &finding;
    if (last == nullptr || rank(&finding) > rank(last)) last = &finding;
  }
  std::vector<const Finding*> kept;
  for (const Finding& finding : log.findings) {
    if (is_no_failure(finding)) continue;
    const auto tells = [&](const Finding* best) {
      return best == &finding || best->signature->cause == finding.signature->cause;
    };
    if (tells(firsts.at(finding.first.number)) && tells(lasts.at(finding.last.number))) {
      kept.push_back(&finding);
    }
  }
  return kept;
}

// The first of the last run; null: none.
const Finding* find_in(const LogScan& log, std::string_view id) {
  const auto found = std::ranges::find_if(log.findings, [&](const Finding& finding) {
    return finding.signature->id == id && !finding.earlier_run;
  });
  return found == log.findings.end() ? nullptr : &*found;
}

// Did something fail after it in its own words? Who gave up waiting says no more than that it
// was waited for.
bool failed_after(const Finding& finding, const LogScan& log) {
  return std::ranges::any_of(log.findings, [&](const Finding& other) {
    const Role role = other.signature->role;
    const std::string_view cause = other.signature->cause;
    return other.first.number > finding.last.number &&
           (role == Role::primary || cause == "nccl_error" || cause == "shm_full") &&
           cause != finding.signature->cause;
  });
}

bool stands(const Finding& finding, const LogScan& log) {
  const Role role = finding.signature->role;
  if (role == Role::at_end) {
    return finding.progress_after == 0 && finding.lines_after <= 60 && !failed_after(finding, log);
  }
  return role != Role::note && role != Role::consequence;
}

// "6/4 clients joined", "(world_size=4, worker_count=6, ...)": more than there is room for.
bool too_many_joined(const std::string& line) {
  static const re2::RE2 kStore(R"(waiting for clients\. (\d+)/(\d+) clients joined)");
  static const re2::RE2 kWorkers(R"(worker_count=(\d+))"), kWorld(R"(world_size=(\d+))");
  std::int64_t joined = 0, world = 0;
  const bool told = re2::RE2::PartialMatch(line, kStore, &joined, &world) ||
                    (re2::RE2::PartialMatch(line, kWorkers, &joined) &&
                     re2::RE2::PartialMatch(line, kWorld, &world));
  return told && world > 0 && joined > world;
}

// Where the lines around one, or the file that raised it, make it another cause's. `alone`: ranks
// waited in vain for others at the start.
void name_by_context(const Finding& finding, const LogScan& log, bool alone, Clue& clue) {
  if (clue.signature == "cgroup_events_oom" && find_in(log, "cgroup_never_full") != nullptr) {
    clue.cause = &find_cause("host_out_of_memory");
  }
  if (too_many_joined(finding.first.text)) clue.cause = &find_cause("rank_mismatch");
  // Words of any network, where ranks wait for one another: it is theirs.
  if (clue.signature == "network_words" && alone) clue.cause = &find_cause("rendezvous_failed");
  const bool unreadable = clue.name() == "checkpoint_damaged" ||
                          finding.first.text.find("JSONDecodeError") != std::string::npos;
  if (unreadable && reads_samples(finding, log)) {
    clue.cause = &find_cause("bad_training_data");
  }
  // A child that could not read what its parent failed to hand over.
  if (clue.name() == "checkpoint_damaged" && ends_with(finding.first.raised.file, "spawn.py")) {
    clue.cause = &find_cause("start_method");
  }
  if (clue.signature == "pickle_child" && ends_with(finding.first.raised.file, "reduction.py")) {
    clue.weight = 0.9;
  }
  // Where a loader's worker cannot start CUDA, it was forked from a process that had.
  if (clue.signature == "cuda_start" && reads_samples(finding, log)) {
    clue.cause = &find_cause("start_method");
    clue.weight = 0.75;
    clue.signature = "cuda_fork";
  }
  // An argument that a library's own frame passes on, or a class does not take, was one of another
  // version; that of a function of the caller's own is the caller's.
  static const re2::RE2 kArgument(R"((\b[A-Z]\w*(?:\.__\w+__)?)?\(\) got an unexpected keyword)");
  const RaisedAt& raised = finding.first.raised;
  std::string of_a_class;
  if (re2::RE2::PartialMatch(finding.first.text, kArgument, &of_a_class) &&
      !(of_a_class.empty() && raised.library.empty())) {
    clue.cause = &find_cause("library_conflict");
  }
  // Python names the part that is missing: its package is there, of a version without it, unless
  // its name is one that any program gives to a folder of its own.
  static const re2::RE2 kPart(R"(No module named '?(\w+)\.[a-z])");
  std::string package;
  if (clue.name() == "missing_module" &&
      re2::RE2::PartialMatch(finding.first.text, kPart, &package) &&
      !listed(" utils tools models data src lib core config common ", package)) {
    clue.cause = &find_cause("library_conflict");
  }
  // What a program that starts others does not find is a program.
  if (clue.name() == "missing_file" && ends_with(raised.file, "subprocess.py")) {
    clue.cause = &find_cause("missing_module");
  }
}

// What messages of exceptions say in words that any program uses, behind the file that raises it
// and a bar.
constexpr std::string_view kOwnWords = R"rows(
gpu_id_invalid (?i)\b(?:device|gpu)(?: id| ordinal| index)\b.{0,40}(?:exceeds?|out of range|invalid|not (?:available|visible))
rank_mismatch (?i)\bworld[ _]size\b.{0,40}\bbut\b|\bbut (?:only )?\d+ (?:ranks?|workers|processes|clients)\b
checkpoint_mismatch (?i)receives a shape \[|\b(?:model|checkpoint) expected\b|\b(?:checkpoint|state[_ ]dict|weights)\b.{0,60}(?:contains only|does not (?:contain|have|match|fit)|lacks|is missing|incompatible)
library_conflict (?i)(?-i:AttributeError: '[A-Z]\w*(?:Config|Model|Tokenizer|Processor|Predictor|Trainer)' object has no attribute)|version mismatch|is already (?:used|registered) by\b|incompatible (?:with|versions?)|not compatible with|was (?:built|compiled) (?:with|for|against)|(?:more recent|newer|older|later) version of|version.{0,40}(?:(?:is|are) (?:not supported|required)|too (?:old|new))|unsupported.{0,20} version
missing_module (?i)(?:fail(?:ed)? to|could not|couldn't|unable to|cannot|can't|did not) (?:find|locate) (?:[\w'-]+ ){0,3}(?:compiler|executable|binary|program|command|tool|package|library|attribute|entry ?point)|requires the \S+ (?:library|package|backend)|is not installed|not (?:in|on) (?:your |the )?PATH\b|please install|pip install|need(?:s|ed)? to (?:have \S+|be) installed
bad_training_data (?i)unable to get page count|no pix returned|\b(?:pdf|document|page|image|input file)\b.{0,60}(?:signature|signed\b|encrypted|password|already has text|malformed|unreadable|broken|(?:cannot|could not) be (?:read|opened|decoded))|(?:unrecogni[sz]ed|malformed|broken|corrupt(?:ed)?|(?:cannot|could not|unable to|failed to) (?:decode|parse|identify)) .{0,30}\b(?:pdf|document|page|image|sample|record|jpe?g|tiff?)\b
checkpoint_damaged (?i)corrupt(?:ed)?\b|checksum|truncated|unexpected end of
missing_file (?i)\b(?:file|folder|directory|path|model|checkpoint|dictionary)\b.{0,80}(?:not found|(?:does not|doesn't) exist|is missing)|(?:cannot|can't|could not|couldn't|unable to|failed to) (?:find|open|locate) .{0,40}\b(?:file|folder|directory|path|model|checkpoint|dictionary)\b
dataset_too_small (?i)\b(?:data ?sets?|data ?loaders?|samples?|batch(?:es)?|images?|total_steps|length)\b.{0,60}(?:\bempty\b|\bis zero\b|(?:got|=|is|has|of) 0\b)|\bno (?:valid |training |usable )*(?:samples|images|batches|examples|data)\b
label_out_of_range (?i)\b(?:labels?|class(?:es)?|targets?|tokens?|vocab\w*|char\w*|blank)\b.{0,80}(?:out of (?:range|bounds)|in interval|exceeds?|(?:not|cannot be found|not found) in (?:the )?'?(?:dict|vocab|charset|alphabet))
request_too_large (?i)\b(?:page|image|document|prompt|input|request|message|payload|sequence)\b.{0,80}(?:too (?:large|long|big)|longer than|exceeds?\b.{0,30}(?:limit|maximum))
shape_mismatch (?i)\b(?:input|target)_lengths\b|\b(?:shape|dimensions?|channels?|height|width)\b[^.]{0,60}\b(?:not match|divisible|incompatible|must be|should be)|expected .{0,40}\b(?:shape|dimensions?|channels)\b
access_refused (?i)no api key|not logged in|unauthori[sz]ed|forbidden|not authori[sz]ed|access (?:is )?denied|invalid (?:token|credentials|api key)
no_gpu_visible (?i)\bno (?:cuda|hip|xpu|gpu) (?:runtime|devices?)\b|\b(?:cuda|gpu|hip|xpu)\b.{0,40}(?:not (?:available|found|detected)|initiali[sz]ation failed|might not have)
server_overloaded (?i)rate limit|too many requests|overloaded|quota exceeded
remote_unreachable (?i)\bconnection error\b|max retries exceeded|\b(?:server|connection|endpoint|broker|host)\b.{0,60}(?:disconnected|refused|timed out|unreachable|unavailable)
bad_configuration \bunscale FP16 gradients|^\S*(?:config|argument|args\b|arg_utils|options|settings)\S* \||onfig\w*: |(?i:\b(?:world[_ ]?size|parallel\w*(?: size)?|nproc\w*|num_gpus|ranks)\b.{0,60}(?:not (?:a multiple|divisible|equal)|must (?:be|divide)|does not (?:divide|match)|exceeds))|\b(?:ValueError|AssertionError|NotImplementedError): .*(?i:must (?:be|have|has|match|not)\b|make sure (?:to|that)\b|should (?:be|have)\b|has to be|requires? .{1,60} to (?:be|match|have)\b|not a (?:round )?multiple|mutually exclusive|cannot be (?:used|combined|set)|not (?:supported|allowed|valid|divisible|recogni[sz]ed)\b|\binvalid (?:value|option|argument|choice)|unsupported|unknown (?:model|option|key|type|backend)|unrecogni[sz]ed|\bmismatch\b|\brefus(?:es|ed|ing) to\b|at least one of|\bbut (?:got|found|received)\b|please (?:set|specify|provide|pass)\b|you can(?:'t|not)\b)
)rows";

// The cause that such a message names; null: none.
const CauseRow* named_by(const Clue& clue) {
  // A library's own code asks one of its objects in vain: it is of another version.
  static const re2::RE2 kLacks(
      R"(AttributeError: '(?:[A-MO-Z]|N[^o])\w*' object has no attribute)");
  if (!clue.line.raised.library.empty() && re2::RE2::PartialMatch(clue.said, kLacks)) {
    return &find_cause("library_conflict");
  }
  using Row = std::pair<const CauseRow*, std::unique_ptr<re2::RE2>>;
  static const std::vector<Row> kRows = [] {
    std::vector<Row> rows;
    for (std::string_view row : rows_of(kOwnWords)) {
      const CauseRow* cause = &find_cause(take_column(row));
      rows.emplace_back(cause, std::make_unique<re2::RE2>(row));
    }
    return rows;
  }();
  const std::string said = clue.line.raised.file + " |" + clue.said;
  const auto row = std::ranges::find_if(
      kRows, [&](const Row& one) { return re2::RE2::PartialMatch(said, *one.second); });
  return row == kRows.end() ? nullptr : row->first;
}

}  // namespace

void CauseRanker::add(std::string_view cause, Role role, double weight, std::string_view signature,
                      std::string text) {
  Clue clue{&find_cause(cause), role, weight, signature, {}, {}, -1};
  clue.line = {std::string(signature), 0, std::move(text)};
  clues_.push_back(std::move(clue));
}

Clue& CauseRanker::add_seen(std::string_view cause, Role role, double weight, const Seen& one) {
  const LogLine& line = one.finding->first;
  add(cause, role, weight, one.finding->signature->id, "");
  Clue& clue = clues_.back();
  clue.line = {log_of(one.file).file, line.number, line.text, one.finding->count};
  clue.file = one.file;
  clue.when = line.when;
  return clue;
}

bool CauseRanker::any(std::string_view cause, int min_tier) const {
  return any_clue([&](const Clue& clue) {
    return clue.name() == cause && tier(clue.role) >= min_tier && clue.weight > 0.2;
  });
}

void CauseRanker::hear_log(int index) {
  constexpr std::int64_t kOneChain = 80;  // lines
  const LogScan& log = log_of(index);
  const bool alone = !seen(logs_, " paddle_server_not_ready torch_store_timeout ").empty();
  for (const Finding* finding : telling_findings(log)) {
    if (!stands(*finding, log)) continue;
    const SignatureRow& signature = *finding->signature;
    if (is_accepted(finding->first.text)) continue;
    Clue clue{&find_cause(signature.cause), signature.role, signature.weight, signature.id, {},
              finding->first.when,          index,          finding->rank};
    clue.actor = finding->actor;
    name_by_context(*finding, log, alone, clue);
    clue.weight *= survival_factor(*finding, log, end_);
    // Typed wrong, or of another version of the program: only its --help tells.
    if (clue.signature == "options_gone") {
      add_seen("library_conflict", Role::symptom, 0.7 * clue.weight, {index, finding});
    }
    const bool over = log.finished || recovered(*finding, log);
    clue.lasting = over ? clue.weight : signature.weight;
    weigh_kernel_kill(*finding, clue);
    weigh_listed_object(*finding, clue);
    // The exception that ended the run, not one of its kind that it had survived long before.
    const bool exception = signature.id == "exception_line";
    const bool survived = finding->last.number - finding->first.number > kOneChain;
    // The source of a frame is no message: the exception below it is. And a loader's word for what
    // its worker raised has the message below it as well.
    const bool quoted =
        (finding->first.raised.place.empty() && !finding->last.raised.place.empty()) ||
        finding->first.text.find(" in DataLoader worker process ") != std::string::npos;
    const LogLine& line =
        (signature.role == Role::generic && (!exception || survived)) || (quoted && !survived) ||
                (is_warning(finding->first.text) && !is_warning(finding->last.text))
            ? finding->last
            : finding->first;
    clue.line = {log.file, line.number, line.text, finding->count, line.raised};
    clue.when = line.when;
    clue.dated = line.dated;
    clue.went_on = log.finished || finding->progress_after > 0 || finding->lines_after > 2;
    clue.stepped = finding->progress_after > 0;
    if (finding->first.raised.rank) clue.rank = finding->first.raised.rank;
    clue.said = line.text;
    // What a chain of messages begins with and what it ends with: either may say why. Of a root
    // cause that several lines name, the last one is where the log ended.
    const LogLine& other = &line == &finding->first ? finding->last : finding->first;
    const bool speaks = clue.speaks() || (tier(clue.role) == 3 && finding->lines_after <= 2);
    const bool chained =
        speaks && other.text != line.text && std::abs(other.number - line.number) <= kOneChain;
    if (chained) clue.said += "\n" + other.text;
    clues_.push_back(clue);
    if (!chained) continue;
    clue.weight = clue.lasting = 0;
    clue.line.line = other.number;
    clue.line.text = other.text;
    clues_.push_back(std::move(clue));
  }
}

void CauseRanker::hear_logs() {
  if (evidence_.exit_code == 0 || std::ranges::any_of(logs_, &LogScan::exited_with_zero)) {
    end_ = RunEnd::exit_zero;
  }
  if (evidence_.exit_code.value_or(0) == 0 && ended_well(logs_)) end_ = RunEnd::well;
  for (std::size_t i = 0; i < logs_.size(); ++i) hear_log(static_cast<int>(i));
  // Of two that weigh the same, the one that was written first speaks.
  std::ranges::stable_sort(clues_, [](const Clue& a, const Clue& b) {
    return std::pair(a.file, a.line.line) < std::pair(b.file, b.line.line);
  });
}

// A loader worker that is gone without an error of its own was killed: an exception, a bus error
// and a segmentation fault are all reported by the worker itself. Paddle 3 says no more than that.
void CauseRanker::hear_vanished_workers() {
  constexpr std::string_view kOwnWord =
      " paddle_worker_caught torch_worker_traceback paddle_worker_exit ";
  const bool rooted = any_clue([](const Clue& clue) { return clue.is(3, 0.4); });
  if (rooted || !seen(logs_, kOwnWord).empty()) return;
  for (const Seen& gone : seen(logs_, " paddle_workers_exit torch_worker_exit ")) {
    if (gone.finding->over) continue;
    Clue& clue = add_seen("host_out_of_memory", Role::symptom, 0.6, gone);
    clue.signature = "worker_vanished";
    // Without a file: a guess from silence has no place in the order of lines.
    clue.file = -1;
    return;
  }
}

// Only lines of a clean-up: the process was told to stop, most likely by its launcher.
void CauseRanker::hear_terminations() {
  if (any_clue([](const Clue& clue) { return clue.is(2, 0.3) || clue.is_exception(); })) return;
  for (const LogScan& log : logs_) {
    for (const Finding& finding : log.findings) {
      const SignatureRow& row = *finding.signature;
      if (row.role != Role::consequence || finding.over || finding.served_after > 0 ||
          row.weight < 0.2 || recovered(finding, log)) {
        continue;
      }
      add("terminated_from_outside", Role::symptom, 0.5, row.id, "");
      clues_.back().line = {log.file, finding.first.number, finding.first.text};
    }
  }
}

// A failure without a reason of its own after lines that are mostly harmless: images that cannot be
// read are replaced by others until none is left.
void CauseRanker::hear_last_notes() {
  constexpr std::int64_t kTraceback = 4000;  // lines: a recursion prints a thousand frames
  const bool known = any_clue([](const Clue& clue) { return tier(clue.role) >= 2; });
  if (known || clues_.empty() || evidence_.exit_code == 0) return;
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    const LogScan& log = logs_[i];
    if (log.finished) continue;
    const bool missing = find_in(log, "ppocr_missing_image") != nullptr;
    for (const Finding& finding : log.findings) {
      const SignatureRow& row = *finding.signature;
      const bool line_error = row.id == "ppocr_line_error";
      if (row.role != Role::note || finding.over || row.weight < 0.5 ||
          find_cause(row.cause).kind != CauseKind::failure || (missing && line_error) ||
          finding.lines_after > (finding.count > 1 ? kTraceback : 40)) {
        continue;
      }
      const Seen note = {static_cast<int>(i), &finding};
      add_seen(row.cause, Role::symptom, finding.count > 1 ? 0.8 : row.weight, note);
      // PaddleOCR takes another sample for each that fails, until the recursion ends it: all
      // samples fail, and where letters beyond ASCII do, the dictionary may be another language's.
      const bool letters =
          std::ranges::any_of(finding.first.text, [](char c) { return (c & 0x80) != 0; });
      if (line_error && letters && find_in(log, "recursion") != nullptr) {
        add_seen("label_out_of_range", Role::symptom, 0.6, note);
      }
    }
  }
}

// An exception without a row of its own that its message explains, or the file that raises it or is
// called before: a configuration's own raises what it finds wrong. What a request met says nothing
// of the server.
void CauseRanker::hear_own_words() {
  constexpr double kOfAnEnd = 0.35;
  if (any_clue([](const Clue& clue) { return clue.is(2, 0.3); })) return;
  if (!seen(logs_, " serving_request_failed ").empty()) return;
  const bool failed = evidence_.exit_code.value_or(0) != 0;
  std::vector<Clue> more;
  for (const Clue& clue : clues_) {
    // An error's line says little, unless the program ended by it.
    const double weight = failed && clue.signature == "error_word" ? kOfAnEnd : clue.weight;
    if (!clue.speaks() || weight < 0.3) continue;
    const CauseRow* own = named_by(clue);
    if (own == nullptr) continue;
    more.push_back(clue);
    more.back().cause = own;
    more.back().role = Role::symptom;
    more.back().weight = 1.3 * weight;
    more.back().signature = "own_words";
  }
  clues_.insert(clues_.end(), more.begin(), more.end());
}

// Memory that a program prints of itself and that grew from each line to the next until a SIGKILL.
void CauseRanker::hear_printed_memory() {
  constexpr std::size_t kFewest = 6;  // values: fewer are a start
  constexpr double kGrowth = 2;
  if (!sigkill_ && !sigkill_proved_) return;
  for (const Seen& memory : seen(logs_, " resident_memory ")) {
    std::vector<double> values;
    for (const std::string& value : memory.finding->subjects) {
      values.push_back(parse_number(value).value_or(0));
    }
    const auto most = std::ranges::max_element(values);
    const bool enough = static_cast<std::size_t>(most - values.begin()) + 1 >= kFewest;
    if (enough && *most >= kGrowth * values.front() && std::is_sorted(values.begin(), most)) {
      add_seen("memory_leak", Role::primary, 0.7, memory);
    }
  }
}

// The last memory that was printed beside the machine's: nearly all of it, then a SIGKILL.
void CauseRanker::hear_full_memory() {
  constexpr double kFull = 0.95;
  static const re2::RE2 kFigures(
      R"((?:[Mm]emory us(?:ed|age)|памят|内存)[^\d]{0,40}([\d.]+) ?([^\s\d.]{0,6}) ?(?:of|из|/) ?([\d.]+) ?([^\s\d.,;)]*))");
  static const re2::RE2 kOfACard("(?i:gpu|cuda|vram|card)");
  if (!sigkill_) return;
  for (const Seen& memory : seen(logs_, " memory_of_total ")) {
    const LogLine& line = memory.finding->last;
    std::string used, unit, total, of;
    if (!re2::RE2::PartialMatch(line.text, kFigures, &used, &unit, &total, &of) ||
        re2::RE2::PartialMatch(line.text, kOfACard) || (!of.empty() && of != unit) ||
        parse_number(used).value_or(0) < kFull * parse_number(total).value_or(1e9)) {
      continue;
    }
    Clue& clue = add_seen("host_out_of_memory", Role::primary, 0.88, memory);
    clue.line.line = line.number;
    clue.line.text = line.text;
  }
}

// A dictionary of another model reads no language, with high scores. Weights that do not fit are
// left out, as a head of another dictionary: a training that then reads nothing right to its end
// had too few lines to learn them, or the letters of its many lines are not those of the
// dictionary; an inference ends well and reads rubbish. In another training the same line is as it
// should be.
void CauseRanker::hear_left_out_weights() {
  constexpr std::int64_t kManyBatches = 50, kFewest = 5, kMany = 20;  // evaluations; guesses
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    const LogScan& log = logs_[i];
    const Finding *nothing = find_in(log, "ppocr_learnt_nothing"),
                  *end = find_in(log, "finish_trainer"), *batches = find_in(log, "batches_of_rank"),
                  *left_out = find_in(log, "ppocr_param_shape");
    const bool inference = log.progress_lines <= log.served_lines && end == nullptr;
    if (inference && left_out == nullptr) left_out = find_in(log, "head_not_loaded");
    const bool in_vain =
        nothing != nullptr && (end == nullptr || nothing->last.number >= end->last.number);
    const bool other_letters =
        in_vain && nothing->count >= (left_out == nullptr ? kMany : kFewest) &&
        batches != nullptr && parse_integer(batches->captures[0]).value_or(0) >= kManyBatches;
    const int file = static_cast<int>(i);
    // What is exported without weights that were loaded reads nothing.
    const Finding* scratch = find_in(log, "from_scratch");
    if (scratch != nullptr && find_in(log, "exported") != nullptr) {
      add_seen("checkpoint_mismatch", Role::symptom, 0.55, {file, scratch});
    }
    if (log.rubbish) {
      Clue clue{&find_cause("checkpoint_mismatch"),
                Role::symptom,
                0.5,
                "weights_read_rubbish",
                {},
                log.rubbish->when,
                file};
      clue.line = {log.file, log.rubbish->number, log.rubbish->text};
      clues_.push_back(std::move(clue));
    }
    if (other_letters) add_seen("label_out_of_range", Role::symptom, 0.62, {file, nothing});
    if (left_out == nullptr || !(in_vain || inference)) continue;
    add_seen("checkpoint_mismatch", Role::symptom, other_letters ? 0.3 : 0.6, {file, left_out});
  }
}

// A root cause in a line that the program went on after for long, until an exception of its own
// ended the log: they may have nothing to do with one another.
void CauseRanker::doubt_what_did_not_end_it() {
  constexpr std::int64_t kFar = 60;  // lines
  constexpr double kNotTheEnd = 0.7;
  for (Clue& clue : clues_) {
    if (clue.role != Role::primary || !clue.went_on || clue.file < 0) continue;
    const bool ended = any_clue([&](const Clue& other) {
      // Where the doubted line is an exception as well, the last one is told by its traceback.
      const bool raised = other.is_exception() || other.signature == "traceback";
      return raised && !other.went_on && other.file == clue.file && other.actor == clue.actor &&
             other.rank == clue.rank && other.line.line > clue.line.line + kFar;
    });
    if (ended) clue.weight = std::min(clue.weight, kNotTheEnd);
  }
}

// A warning, or a line that names a missing file: a remark where nothing else failed, and hardly
// the cause where something did that does not follow from it.
void CauseRanker::doubt_remarks() {
  const bool failing = evidence_.exit_code.value_or(0) != 0 || any_clue([](const Clue& clue) {
                         return !is_remark(clue) && tier(clue.role) > 0 && clue.weight >= 0.1;
                       });
  for (Clue& clue : clues_) {
    if (clue.file < 0 || !is_remark(clue)) continue;
    const bool other_root = any_clue([&](const Clue& other) {
      return !is_remark(other) && tier(other.role) >= 3 && other.weight >= 0.4 &&
             other.cause != clue.cause && !produces(clue.name(), other.name());
    });
    if (failing ? other_root : clue.went_on) {
      clue.weight *= 0.2;
    } else if (is_warning(clue.line.text) && clue.went_on) {
      clue.weight *= 0.5;
    }
  }
}

std::vector<Cause> CauseRanker::sum_up() const {
  std::map<std::string_view, Cause> causes;
  std::map<std::string_view, std::vector<const Clue*>> clues;
  for (const Clue& clue : clues_) clues[clue.name()].push_back(&clue);
  for (auto& [name, own] : clues) {
    std::ranges::stable_sort(own, [](const Clue* a, const Clue* b) {
      return std::pair(tier(a->role), a->weight) > std::pair(tier(b->role), b->weight);
    });
    Cause& cause = causes[name];
    cause.row = own[0]->cause;
    cause.role = own[0]->role;
    cause.follows = std::ranges::all_of(own, [](const Clue* clue) { return clue->explained; });
    double doubt = 1;
    std::set<std::string_view> seen;
    for (const Clue* clue : own) {
      const bool again = !seen.insert(clue->signature).second;
      // Lines of one log speak of one event, so each further one adds only a part of its weight. A
      // thousand ranks that waited for one say no more than the first of them.
      const bool echo = again && (is_witness(name) || cause.follows);
      // As of independent witnesses: 1 minus the product of their doubts.
      doubt *= 1 - clue->weight * (echo ? 0.0 : again ? 0.15 : clue == own[0] ? 1.0 : 0.5);
      if (!again) cause.signatures.emplace_back(clue->signature);
      const bool told = std::ranges::any_of(cause.evidence, [&](const EvidenceLine& line) {
        return line.file == clue->line.file &&
               (line.line == clue->line.line || line.text == clue->line.text);
      });
      if (cause.evidence.size() < (echo ? 2 : kMaxEvidence) && !told) {
        cause.evidence.push_back(clue->line);
      }
    }
    cause.confidence = std::min(1 - doubt, kSurest);
  }
  std::vector<Cause> sorted;
  for (auto& [name, cause] : causes) {
    if (cause.confidence >= 0.05) sorted.push_back(std::move(cause));
  }
  std::ranges::stable_sort(
      sorted, [](const Cause& a, const Cause& b) { return a.confidence > b.confidence; });
  return sorted;
}

std::vector<Cause> CauseRanker::rank() {
  hear_logs();
  place_in_time();
  read_gpu_memory();
  hear_vanished_workers();
  doubt_kills_by_others();
  hear_exit_code();
  sigkill_ = any_clue([](const Clue& clue) { return clue.is_sigkill(); });
  hear_counters();
  hear_full_memory();
  settle_sigkill();
  settle_abort();
  hear_terminations();
  hear_last_notes();
  hear_own_words();
  hear_versions();
  hear_left_out_weights();
  hear_printed_memory();
  hear_reboot();
  hear_waiting_ranks();
  hear_uneven_batches();
  doubt_remarks();
  doubt_what_did_not_end_it();
  restore_lasting();
  hear_launchers();
  explain_followers();
  discount_followers();
  return sum_up();
}

}  // namespace ocrtune
