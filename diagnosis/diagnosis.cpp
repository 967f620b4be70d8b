#include "diagnosis/diagnosis.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/text.h"
#include "diagnosis/advice.h"
#include "diagnosis/cause_ranker.h"
#include "diagnosis/consequences.h"
#include "diagnosis/next_steps.h"
#include "diagnosis/run_times.h"
#include "diagnosis/story.h"

namespace ocrtune {
namespace {

std::int64_t number_before(std::string_view text, std::string_view unit) {
  const std::size_t end = std::min(text.find(unit), text.size());
  const std::size_t before = end == 0 ? end : text.find_last_not_of("0123456789", end - 1);
  const std::size_t from = before == std::string_view::npos ? 0 : before + 1;
  return parse_integer(text.substr(from, end - from)).value_or(0);
}

// nvidia-smi's rows of cards: one works, and another holds nothing.
bool one_card_works(const Finding& rows) {
  constexpr std::int64_t kBusyPercent = 20, kIdlePercent = 5, kIdleMebibytes = 200;
  int busy = 0, idle = 0;
  for (const std::string& row : rows.subjects) {
    const std::int64_t load = number_before(row, "%");
    busy += load >= kBusyPercent;
    idle += load <= kIdlePercent && number_before(row, "MiB") < kIdleMebibytes;
  }
  return busy == 1 && idle > 0;
}

// cpu.stat of a control group: its quota ran out in half of all periods or more.
bool throttled(const Finding& counts) {
  const std::vector<std::string>& values = counts.subjects;  // of nr_periods, of nr_throttled
  if (values.size() < 2) return false;
  return 2 * parse_integer(values[1]).value_or(0) >= parse_integer(values[0]).value_or(0);
}

// Lightning's profiler: the percentage of the run in the loader's next().
bool waits_for_loader(const Finding& row) {
  constexpr double kMuchPercent = 30;
  return !row.captures.empty() && parse_number(row.captures[0]).value_or(0) >= kMuchPercent;
}

// One cause a name, with the evidence of all files.
void add_once(Cause cause, Diagnosis& diagnosis) {
  const auto known = std::find_if(diagnosis.causes.begin(), diagnosis.causes.end(),
                                  [&](const Cause& other) { return other.row == cause.row; });
  if (known == diagnosis.causes.end()) return diagnosis.causes.push_back(std::move(cause));
  known->confidence = std::max(known->confidence, cause.confidence);
  known->evidence.push_back(std::move(cause.evidence[0]));
}

void add_slow(const char* cause, double confidence, const char* signature, const LogScan& log,
              const std::string& text, Diagnosis& diagnosis) {
  add_once({&find_cause(cause),
            confidence,
            Role::note,
            {{log.file, log.last_progress.number, text}},
            {signature},
            {}},
           diagnosis);
}

// What a step costs: waiting for data, and a rate that falls.
void add_costs(const LogScan& log, Diagnosis& diagnosis) {
  constexpr double kMuch = 0.3;
  const StepCosts& costs = log.costs;
  if (costs.data_share >= kMuch) {
    std::string text = fmt::format("{} of the step waits for data: {}",
                                   format_percent(costs.data_share), log.last_progress.text);
    if (2 * costs.first_data_share < costs.data_share) {
      text = fmt::format("{}, at first {}; ", format_percent(costs.data_share),
                         format_percent(costs.first_data_share)) +
             text;
    }
    add_slow("data_loading_bound", std::min(0.9, 0.3 + 0.7 * costs.data_share), "reader_cost", log,
             text, diagnosis);
  } else if (costs.fell()) {
    add_slow("throughput_fell", 0.6, "rate_fell", log,
             fmt::format("{} a second at first, {} at last: {}", format_count(costs.first_rate),
                         format_count(costs.last_rate), log.last_progress.text),
             diagnosis);
  }
}

void add_slowness(const std::vector<LogScan>& logs, Diagnosis& diagnosis) {
  for (const LogScan& log : logs) {
    for (const Finding& finding : log.findings) {
      const CauseRow& row = find_cause(finding.signature->cause);
      if (finding.signature->role != Role::note || row.kind != CauseKind::slowness) continue;
      const std::string_view id = finding.signature->id;
      if (id == "smi_card" && !one_card_works(finding)) continue;
      if (id == "cpu_stat" && !throttled(finding)) continue;
      if (id == "lightning_profile" && !waits_for_loader(finding)) continue;
      add_once({&row,
                finding.signature->weight,
                Role::note,
                {{log.file, finding.first.number, finding.first.text}},
                {finding.signature->id},
                {}},
               diagnosis);
    }
    add_costs(log, diagnosis);
  }
}

bool is_evidence(const std::vector<Cause>& causes, const std::string& file, std::int64_t line) {
  return std::any_of(causes.begin(), causes.end(), [&](const Cause& cause) {
    return std::any_of(
        cause.evidence.begin(), cause.evidence.end(),
        [&](const EvidenceLine& known) { return known.file == file && known.line == line; });
  });
}

// Did loader workers die, or NCCL speak? Else nobody would think of NCCL_P2P_DISABLE.
bool may_blame_nccl(const std::vector<LogScan>& logs) {
  return std::any_of(logs.begin(), logs.end(), [](const LogScan& log) {
    return (log.programs & kNccl) != 0 ||
           std::any_of(log.findings.begin(), log.findings.end(), [](const Finding& finding) {
             const std::string_view id = finding.signature->id;
             return id == "paddle_worker_sigkill" || id == "torch_worker_sigkill" ||
                    id == "paddle_workers_exit";
           });
  });
}

void add_notes(const std::vector<LogScan>& logs, const FailureEvidence& evidence,
               const CauseRanker& ranker, Diagnosis& diagnosis) {
  constexpr double kWorthTelling = 0.2;  // a note below it only takes another line back
  for (const LogScan& log : logs) {
    for (const Finding& finding : log.findings) {
      const SignatureRow& signature = *finding.signature;
      const CauseRow& row = find_cause(signature.cause);
      if (signature.role == Role::consequence) {
        diagnosis.consequences.push_back({log.file, finding.first.number, finding.first.text});
      } else if (signature.role == Role::note && row.kind == CauseKind::failure &&
                 signature.weight >= kWorthTelling &&
                 !is_evidence(diagnosis.causes, log.file, finding.first.number)) {
        diagnosis.notes.push_back(
            fmt::format("{}:{}: {}", log.file, finding.first.number, finding.first.text));
      }
    }
    if (log.kind == SourceKind::binary) {
      diagnosis.notes.push_back(log.file + " is not text: not the log of a run");
    }
    if (log.bytes == 0) diagnosis.notes.push_back(log.file + " is empty");
  }
  if (evidence.killed_by_us) {
    diagnosis.notes.push_back("ocrtune itself stopped this run: " + evidence.killed_why);
  }
  if (!ranker.sigkill() || !may_blame_nccl(logs)) return;
  if (ranker.any("nccl_p2p_broken", 3) || ranker.any("nccl_error", 3)) {
    diagnosis.notes.emplace_back(
        "The logs hold both a SIGKILL and errors of NCCL's own; look at which came first. Killed "
        "ranks make the others report NCCL errors, never the other way round.");
  } else {
    diagnosis.notes.emplace_back(
        "NCCL_P2P_DISABLE=1, often advised for 'killed by signal: Killed', does not help here: "
        "loader workers use no NCCL, and nothing in these logs speaks of a GPU-to-GPU fault. It "
        "moves the traffic through host shared memory, so it can make a shortage of memory worse.");
  }
}

// A step, a known program, a line that any signature knows, an exit code: something of a run.
Given given_in(const std::vector<LogScan>& logs, const FailureEvidence& evidence) {
  if (evidence.exit_code || evidence.killed_by_us) return Given::run;
  const auto every = [&](auto is) { return std::all_of(logs.begin(), logs.end(), is); };
  if (every([](const LogScan& log) { return log.bytes == 0; })) return Given::nothing;
  const bool no_run = every([](const LogScan& log) {
    return log.kind == SourceKind::binary ||
           (log.progress_lines == 0 && log.programs == 0 && log.findings.empty());
  });
  return no_run ? Given::no_run : Given::run;
}

void name_unknown(const std::vector<LogScan>& logs, const FailureEvidence& evidence,
                  Diagnosis& diagnosis) {
  const bool failing_exit = evidence.exit_code.value_or(0) != 0 && !evidence.killed_by_us;
  if (!failing_exit) return;
  const bool only_exit =
      std::all_of(diagnosis.causes.begin(), diagnosis.causes.end(), [](const Cause& cause) {
        return cause.confidence < kMinConfidence ||
               std::string_view(cause.row->name) == "process_failed";
      });
  if (!only_exit) return;
  Cause unknown{&find_cause("unknown"), 0.5, Role::generic, {}, {}, {}};
  const auto known = std::find_if(
      diagnosis.causes.begin(), diagnosis.causes.end(),
      [](const Cause& cause) { return std::string_view(cause.row->name) == "unknown"; });
  if (known != diagnosis.causes.end()) {  // lines that speak of an error
    unknown.evidence = std::move(known->evidence);
    unknown.signatures = std::move(known->signatures);
    diagnosis.causes.erase(known);
  }
  for (const LogScan& log : logs) {
    const bool quoted = std::any_of(
        unknown.evidence.begin(), unknown.evidence.end(), [&](const EvidenceLine& line) {
          return line.file == log.file && line.line == log.last_line.number;
        });
    if (!log.last_line.text.empty() && !quoted) {
      unknown.evidence.push_back({log.file, log.last_line.number, log.last_line.text});
    }
  }
  unknown.evidence.push_back({kProcessEnd, 0, decode_exit(*evidence.exit_code).text});
  diagnosis.causes.insert(diagnosis.causes.begin(), std::move(unknown));
}

void sort_by_confidence(std::vector<Cause>& causes) {
  std::stable_sort(causes.begin(), causes.end(),
                   [](const Cause& a, const Cause& b) { return a.confidence > b.confidence; });
}

// An exit code, a crash without a name, ranks that gave up waiting: they say that, not why. Above
// these bounds they had been right in three of nine first looks.
void cap_the_nameless(std::vector<Cause>& causes) {
  constexpr double kNameless = 0.5, kEnding = 0.4;
  for (Cause& cause : causes) {
    const std::string_view name = cause.row->name;
    const bool waiting =
        name == "collective_timeout" || name == "nccl_init_hang" || name == "nccl_error";
    if (name == "process_failed") {
      cause.confidence = std::min(cause.confidence, kEnding);
    } else if (is_generic(name) || waiting) {
      cause.confidence = std::min(cause.confidence, kNameless);
    }
  }
  sort_by_confidence(causes);
}

// Of a failure without a name: only what was not given already.
void ask_for_what_is_missing(const std::vector<LogScan>& logs, const FailureEvidence& evidence,
                             std::vector<Cause>& causes) {
  const bool kernel = std::any_of(
      logs.begin(), logs.end(), [](const LogScan& log) { return log.kind == SourceKind::kernel; });
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

// What is killed does not end with 0: such a line speaks of another process.
bool ends_by_a_signal(const Cause& cause) {
  const std::string_view name = cause.row->name;
  return name == "host_out_of_memory" || name == "cgroup_out_of_memory" ||
         name == "userspace_oom_kill" || name == "terminated_from_outside";
}

// Two files that tell of the same failure outweigh a third that says that it went well.
bool told_by_one(const Cause& cause) {
  return std::all_of(cause.evidence.begin(), cause.evidence.end(),
                     [&](const EvidenceLine& line) { return line.file == cause.evidence[0].file; });
}

// "112.log" is rank 112's among its like; alone it is a file with a number.
std::vector<LogScan> without_number(const LogScan& log) {
  LogScan plain = log;
  for (Finding& finding : plain.findings) {
    if (finding.rank == log.rank && rank_of_line(finding.first.text) != log.rank) {
      finding.rank.reset();
    }
  }
  plain.rank.reset();
  return {std::move(plain)};
}

bool is_only_numbered(const LogScan& log) {
  const std::size_t slash = log.file.find_last_of('/');
  const std::size_t from = slash == std::string::npos ? 0 : slash + 1;
  return log.rank && from < log.file.size() && log.file[from] >= '0' && log.file[from] <= '9';
}

// A server of several models says in a line of its own which of them a failure was.
void add_place(const std::vector<LogScan>& logs, Cause& first) {
  constexpr std::int64_t kNear = 40;  // lines, in the log of the cause
  if (first.evidence.empty()) return;
  const EvidenceLine& told = first.evidence[0];
  for (const LogScan& log : logs) {
    for (const Finding& finding : log.findings) {
      const std::int64_t apart = std::abs(finding.first.number - told.line);
      if (std::string_view(finding.signature->id) != "model_named" || finding.earlier_run) continue;
      if (log.file == told.file && (apart == 0 || apart > kNear)) continue;
      first.evidence.push_back({log.file, finding.first.number, finding.first.text});
      return;
    }
  }
}

}  // namespace

Diagnosis diagnose(const std::vector<LogScan>& logs, const FailureEvidence& evidence) {
  constexpr double kMinConfidenceOfSuccess = 0.5;  // where the run is known to have ended well
  if (logs.size() == 1 && is_only_numbered(logs[0])) {
    return diagnose(without_number(logs[0]), evidence);
  }
  CauseRanker ranker(logs, evidence);
  Diagnosis diagnosis;
  diagnosis.causes = ranker.rank();
  name_unknown(logs, evidence, diagnosis);
  cap_the_nameless(diagnosis.causes);
  diagnosis.failed =
      std::any_of(diagnosis.causes.begin(), diagnosis.causes.end(), [&](const Cause& cause) {
        const bool unlikely = (evidence.exit_code == 0 && ends_by_a_signal(cause)) ||
                              (ranker.went_well() && told_by_one(cause));
        return cause.confidence >= (unlikely ? kMinConfidenceOfSuccess : kMinConfidence);
      });
  if (diagnosis.failed) {
    add_place(logs, diagnosis.causes[0]);
    diagnosis.story = tell_story(logs, evidence, ranker, diagnosis.causes);
    diagnosis.next_steps = next_steps(diagnosis.causes, logs);
  }
  add_slowness(logs, diagnosis);
  if (!diagnosis.failed) sort_by_confidence(diagnosis.causes);
  add_notes(logs, evidence, ranker, diagnosis);
  for (Cause& cause : diagnosis.causes) advise(cause, logs);
  ask_for_what_is_missing(logs, evidence, diagnosis.causes);
  if (diagnosis.causes.empty()) diagnosis.given = given_in(logs, evidence);
  return diagnosis;
}

Diagnosis diagnose_text(std::string_view text, const FailureEvidence& evidence) {
  return diagnose({scan_text("log", text)}, evidence);
}

}  // namespace ocrtune
