// The frame around the ranker: its causes first, then bounds on what they may claim. Story, next
// steps, slowness, notes and advice come after that, because they look at the causes that stand.
#include "diagnosis/diagnosis.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/plural.h"
#include "base/text.h"
#include "diagnosis/advice.h"
#include "diagnosis/cause_ranker.h"
#include "diagnosis/consequences.h"
#include "diagnosis/who.h"

namespace ocrtune {
namespace {

// cpu.stat of a control group: its quota ran out in half of all periods or more.
bool throttled(const Finding& counts) {
  const std::vector<std::string>& values = counts.subjects;  // of nr_periods, of nr_throttled
  if (values.size() < 2) return false;
  return 2 * parse_integer(values[1]).value_or(0) >= parse_integer(values[0]).value_or(0);
}

// One cause a name, with the evidence of all files.
void add_slow(std::string_view name, double confidence, std::string_view signature,
              EvidenceLine line, Diagnosis& diagnosis) {
  const CauseRow* row = &find_cause(name);
  auto known = std::ranges::find(diagnosis.causes, row, &Cause::row);
  if (known == diagnosis.causes.end()) {
    known = diagnosis.causes.insert(known, {row, 0, Role::note, {}, {}, {}});
  }
  known->confidence = std::max(known->confidence, confidence);
  known->evidence.push_back(std::move(line));
  known->signatures.emplace_back(signature);
}

// What the numbers of steps say: waiting for data, a rate that falls, nothing that is learnt.
void add_costs(const LogScan& log, Diagnosis& diagnosis) {
  // A guess: below it a step hardly waits for data.
  constexpr double kMuch = 0.3;
  const StepCosts& costs = log.costs;
  const LogLine& line = log.last_progress;
  const auto add = [&](std::string_view cause, double confidence, const std::string& said) {
    add_slow(cause, confidence, "step_costs", {log.file, line.number, said + line.text}, diagnosis);
  };
  const auto change = [](const char* words, double first, double last) {
    return fmt::format(fmt::runtime(words), format_count(first), format_count(last));
  };
  if (costs.rate_is_zero) add("learning_rate_zero", 0.8, "");
  if (log.finished && !diagnosis.failed && costs.reads_nothing) {
    add("learnt_nothing", 0.8, "an accuracy of 0 to the end: ");
  } else if (log.finished && !diagnosis.failed && costs.stands_still()) {
    add("learnt_nothing", 0.5,
        change("a loss of {} at first, {} at last: ", costs.first_loss, costs.last_loss));
  }
  if (costs.data_share >= kMuch) {
    const std::string share = format_percent(costs.data_share);
    const bool grew = 2 * costs.first_data_share < costs.data_share;
    const std::string before =
        grew ? fmt::format("{}, at first {}; ", share, format_percent(costs.first_data_share)) : "";
    add("data_loading_bound", std::min(0.9, 0.3 + 0.7 * costs.data_share),
        fmt::format("{}{} of the step waits for data: ", before, share));
  } else if (costs.fell()) {
    add("throughput_fell", 0.6,
        change("{} a second at first, {} at last: ", costs.first_rate, costs.last_rate));
  }
}

// Who goes on with the CPU where nobody speaks of a card, or is told to, does as intended.
bool misses_a_card(const std::vector<LogScan>& logs) {
  const auto has = [&](std::string_view signatures) { return !seen(logs, signatures).empty(); };
  return !has(" cpu_meant ") &&
         (has(" card_refused ") || (has(" went_on_with_cpu ") && has(" card_wanted ")));
}

void add_slowness(const std::vector<LogScan>& logs, bool late, Diagnosis& diagnosis) {
  // What a run died of that could not use its card says so itself.
  const bool on_cpu = misses_a_card(logs) && (late || !diagnosis.failed);
  for (const LogScan& log : logs) {
    for (const Finding& finding : log.findings) {
      const SignatureRow& row = *finding.signature;
      const bool slow = find_cause(row.cause).kind == CauseKind::slowness;
      if (row.role != Role::note || !slow || (row.id == "cpu_stat" && !throttled(finding)) ||
          (row.cause == "runs_on_cpu" && !on_cpu)) {
        continue;
      }
      const LogLine& line = row.id == "cpu_stat" ? finding.last : finding.first;
      add_slow(row.cause, row.weight, row.id, {log.file, line.number, line.text}, diagnosis);
    }
    add_costs(log, diagnosis);
  }
}

bool is_evidence(const std::vector<Cause>& causes, const std::string& file, std::int64_t line) {
  return std::ranges::any_of(causes, [&](const Cause& cause) {
    return std::ranges::any_of(cause.evidence, [&](const EvidenceLine& known) {
      return known.file == file && known.line == line;
    });
  });
}

void add_notes(const std::vector<LogScan>& logs, const FailureEvidence& evidence,
               Diagnosis& diagnosis) {
  constexpr double kWorthTelling = 0.2;  // a note below it only takes another line back
  for (const LogScan& log : logs) {
    for (const Finding& finding : log.findings) {
      const SignatureRow& signature = *finding.signature;
      const CauseRow& row = find_cause(signature.cause);
      if (signature.role == Role::consequence) {
        if (is_evidence(diagnosis.causes, log.file, finding.first.number)) continue;
        diagnosis.consequences.push_back({log.file, finding.first.number, finding.first.text});
      } else if (signature.role == Role::note && row.kind == CauseKind::failure &&
                 signature.weight >= kWorthTelling &&
                 !is_evidence(diagnosis.causes, log.file, finding.first.number)) {
        diagnosis.notes.push_back(
            fmt::format("{}:{}: {}", log.file, finding.first.number, finding.first.text));
      }
    }
    if (log.kind >= SourceKind::document) {
      const char* what = log.kind == SourceKind::binary ? "not text" : "a document";
      diagnosis.notes.push_back(fmt::format("{} is {}: not the log of a run", log.file, what));
    }
    if (log.bytes == 0) diagnosis.notes.push_back(log.file + " is empty");
  }
  if (evidence.killed_by_us) {
    diagnosis.notes.push_back("ocrtune itself stopped this run: " + evidence.killed_why);
  }
}

// A step, a known program, a line that any signature knows, an exit code: something of a run.
Given given_in(const std::vector<LogScan>& logs, const FailureEvidence& evidence) {
  if (evidence.exit_code || evidence.killed_by_us) return Given::run;
  const auto every = [&](auto is) { return std::ranges::all_of(logs, is); };
  if (every([](const LogScan& log) { return log.bytes == 0; })) return Given::nothing;
  const bool no_run = every([](const LogScan& log) {
    return log.kind >= SourceKind::document ||
           (log.progress_lines == 0 && log.programs == 0 && log.findings.empty());
  });
  return no_run ? Given::no_run : Given::run;
}

void name_unknown(const std::vector<LogScan>& logs, const FailureEvidence& evidence,
                  Diagnosis& diagnosis) {
  const auto is_named = [](const Cause& cause) {
    return cause.confidence >= kMinConfidence &&
           cause.row->name != std::string_view("process_failed");
  };
  if (evidence.exit_code.value_or(0) == 0 || evidence.killed_by_us ||
      std::ranges::any_of(diagnosis.causes, is_named)) {
    return;
  }
  std::vector<Cause>& causes = diagnosis.causes;
  const CauseRow* row = &find_cause("unknown");
  auto unknown = std::ranges::find(causes, row, &Cause::row);  // lines that speak of an error
  if (unknown == causes.end()) unknown = causes.insert(unknown, {row, 0, {}, {}, {}, {}});
  std::rotate(causes.begin(), unknown, unknown + 1);
  causes[0].confidence = 0.5;
  causes[0].role = Role::generic;
  causes[0].follows = false;
  for (const LogScan& log : logs) {
    const LogLine& last = log.last_line;
    if (last.text.empty() || is_evidence({causes[0]}, log.file, last.number)) continue;
    causes[0].evidence.push_back({log.file, last.number, last.text});
  }
  causes[0].evidence.push_back({kProcessEnd, 0, decode_exit(*evidence.exit_code).text});
}

void sort_by_confidence(std::vector<Cause>& causes, std::ptrdiff_t from = 0) {
  std::stable_sort(causes.begin() + from, causes.end(),
                   [](const Cause& a, const Cause& b) { return a.confidence > b.confidence; });
}

// An exit code, a crash without a name, ranks that gave up waiting: they say that, not why. Above
// these bounds they had been right in three of nine first looks.
void cap_the_nameless(std::vector<Cause>& causes) {
  constexpr double kNameless = 0.5, kEnding = 0.4;
  for (Cause& cause : causes) {
    const std::string_view name = cause.row->name;
    const bool nameless =
        is_generic(name) || listed(" collective_timeout nccl_init_hang nccl_error ", name);
    const double bound = name == "process_failed" ? kEnding : nameless ? kNameless : 1;
    cause.confidence = std::min(cause.confidence, bound);
  }
  sort_by_confidence(causes);
}

// Of a failure without a name: only what was not given already.
void ask_for_what_is_missing(const std::vector<LogScan>& logs, const FailureEvidence& evidence,
                             std::vector<Cause>& causes) {
  const bool kernel =
      std::ranges::any_of(logs, [](const LogScan& log) { return log.kind == SourceKind::kernel; });
  for (Cause& cause : causes) {
    if (std::string_view(cause.row->name) != "unknown") continue;
    cause.fixes.clear();
    if (!evidence.exit_code) {
      cause.fixes.emplace_back("give the exit code as well: --exit-code N");
    }
    if (!kernel) cause.fixes.emplace_back("give the kernel's log as well: --kernel-log <(dmesg)");
    cause.fixes.emplace_back("give more of the log, from the start of the run to its last line");
  }
}

// "end the process that holds the card" of one that is known: process 31877.
void name_the_process(Cause& cause) {
  const auto process = std::ranges::find(cause.who, "process", &Named::kind);
  if (process == cause.who.end()) return;
  for (std::string& fix : cause.fixes) {
    for (const char* words : {"end the process", "end the left-over process", "/proc/PID/fd"}) {
      const std::size_t at = fix.find(words);
      if (at == std::string::npos) continue;
      if (*words == '/') {
        fix.replace(at + 6, 3, process->name);
      } else {
        fix.insert(at + std::string_view(words).size(), " " + process->name);
      }
    }
  }
}

// What is killed does not end with 0: such a line speaks of another process.
bool ends_by_a_signal(const Cause& cause) {
  return listed(
      " host_out_of_memory cgroup_out_of_memory numa_node_full userspace_oom_kill "
      "terminated_from_outside ",
      cause.row->name);
}

// Two files that tell of the same failure outweigh a third that says that it went well.
bool told_by_one(const Cause& cause) {
  return std::ranges::all_of(cause.evidence, [&](const EvidenceLine& line) {
    return line.file == cause.evidence[0].file;
  });
}

// It works at its end, as far as it tells.
bool goes_on(const LogScan& log) {
  return std::ranges::none_of(log.findings, [](const Finding& finding) {
    return tier(finding.signature->role) >= 2 && !finding.over;
  });
}

// What the names of files say. "112.log" is rank 112's among its like; alone it is a file with a
// number. What failed in "run-1.log" was made good where "run-2.log" began after its end and went
// on.
std::vector<LogScan> by_their_names(std::vector<LogScan> logs) {
  static const re2::RE2 kNumbered(R"((?:.*/)?\d[^/]*)"), kNumber(R"(\d+)");
  static const re2::RE2 kTry(R"((?:^|[/_.-])(?:run|try|attempt|retry|restart|slurm)[_.-]?\d+)");
  static const re2::RE2 kBefore(
      R"((?i)(?:^|[/_.-])(?:previous|prev|before|old|last-?state)(?:[_.-]|$))");
  if (logs.size() == 1 && logs[0].rank && re2::RE2::FullMatch(logs[0].file, kNumbered)) {
    for (Finding& finding : logs[0].findings) {
      const bool of_file = finding.rank == logs[0].rank;
      if (of_file && rank_of_line(finding.first.text) != finding.rank) finding.rank.reset();
    }
    logs[0].rank.reset();
  }
  const auto shape = [](std::string name) {
    re2::RE2::GlobalReplace(&name, kNumber, "#");
    return name;
  };
  for (LogScan& log : logs) {
    // Beside what a pod wrote before its restart any log of the pod counts that goes on.
    const bool before = re2::RE2::PartialMatch(log.file, kBefore);
    if (!before && !re2::RE2::PartialMatch(log.file, kTry)) continue;
    const bool tried_again = std::ranges::any_of(logs, [&](const LogScan& later) {
      return later.rank == log.rank && log.last_line.when && later.progress_lines >= 3 &&
             later.first_when > log.last_line.when &&
             (before ? goes_on(later) : shape(later.file) == shape(log.file));
    });
    if (!tried_again) continue;
    for (Finding& finding : log.findings) finding.earlier_run = finding.over = true;
    log.first_failures.clear();
  }
  return logs;
}

}  // namespace

Diagnosis diagnose(const std::vector<LogScan>& given, const FailureEvidence& evidence) {
  constexpr double kMinConfidenceOfSuccess = 0.5;  // where the run is known to have ended well
  const std::vector<LogScan> logs = by_their_names(given);
  CauseRanker ranker(logs, evidence);
  Diagnosis diagnosis;
  diagnosis.causes = ranker.rank();
  name_unknown(logs, evidence, diagnosis);
  cap_the_nameless(diagnosis.causes);
  diagnosis.failed = std::ranges::any_of(diagnosis.causes, [&](const Cause& cause) {
    const bool unlikely = (evidence.exit_code == 0 && ends_by_a_signal(cause)) ||
                          (ranker.went_well() && told_by_one(cause));
    return cause.confidence >= (unlikely ? kMinConfidenceOfSuccess : kMinConfidence);
  });
  if (diagnosis.failed) {
    diagnosis.story = tell_story(logs, evidence, ranker, diagnosis.causes);
    diagnosis.next_steps = next_steps(diagnosis.causes, logs);
  }
  // After the verdict: slowness ends no run, but a limit of time is reached by what is slow.
  const bool late =
      diagnosis.failed && listed(" time_limit worker_timeout ", diagnosis.causes[0].row->name);
  add_slowness(logs, late, diagnosis);
  if (!diagnosis.failed || late) sort_by_confidence(diagnosis.causes, late ? 1 : 0);
  add_notes(logs, evidence, diagnosis);
  if (!diagnosis.causes.empty()) {
    Cause& first = diagnosis.causes[0];
    first.who = who_failed(logs, ranker, first, diagnosis.story);
  }
  const bool slowed = std::ranges::any_of(diagnosis.causes, [](const Cause& cause) {
    return cause.row->kind == CauseKind::slowness && cause.confidence >= 0.5;
  });
  for (Cause& cause : diagnosis.causes) advise(cause, logs, slowed);
  if (!diagnosis.causes.empty()) name_the_process(diagnosis.causes[0]);
  ask_for_what_is_missing(logs, evidence, diagnosis.causes);
  if (diagnosis.causes.empty()) diagnosis.given = given_in(logs, evidence);
  return diagnosis;
}

Diagnosis diagnose_text(std::string_view text, const FailureEvidence& evidence) {
  return diagnose({scan_text("log", text)}, evidence);
}

std::vector<std::string> fixes_of(std::string_view name, std::string_view text) {
  for (const Cause& cause : diagnose_text(text).causes) {
    if (cause.row != nullptr && cause.row->name == name) return cause.fixes;
  }
  Cause unseen;
  unseen.row = &find_cause(name);
  if (unseen.row->name != name) return {};
  advise(unseen, {});
  return unseen.fixes;
}

}  // namespace ocrtune
