#include "diagnosis/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxEvidence = 6;
constexpr double kSurest = 0.98;

// One reason to believe in one cause.
struct Clue {
  const CauseRow* cause = nullptr;
  Role role = Role::generic;
  double weight = 0;
  std::string signature;
  EvidenceLine line;
  std::optional<double> when;
  int file = -1;  // index of the log; -1: not from a log
};

int tier(Role role) {
  switch (role) {
    case Role::proof:
      return 4;
    case Role::primary:
      return 3;
    case Role::at_end:
    case Role::symptom:
      return 2;
    case Role::generic:
      return 1;
    default:
      return 0;
  }
}

bool is_sigkill(const Clue& clue) {
  return std::string_view(clue.cause->name) == "host_out_of_memory" && clue.role != Role::proof &&
         clue.signature != "colab_oom";
}

bool is_training_process(std::string_view name) {
  const std::string word = lower(name);
  if (word.empty()) return true;
  constexpr std::string_view kNames[] = {"python", "pt_",  "paddle", "train", "torch",
                                         "ray",    "ocr",  "burn",   "infer", "worker",
                                         "mpirun", "data", "loader", "gpu"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view part) { return word.find(part) != std::string::npos; });
}

// How much of a finding's weight is left, given what followed it in the log.
double survival_factor(const Finding& finding, const LogScan& log) {
  if (finding.signature->role == Role::proof) return 1;
  double factor = 1;
  if (finding.earlier_run) factor *= 0.15;
  if (finding.progress_after >= 50) {
    factor *= 0.25;
  } else if (finding.progress_after >= 3) {
    factor *= 0.45;
  }
  if (log.finished) factor *= 0.3;
  return factor;
}

// Keeps, of the signatures that first matched on one line, the most telling one.
std::vector<const Finding*> most_telling(const LogScan& log) {
  std::map<std::int64_t, const Finding*> best;
  for (const Finding& finding : log.findings) {
    const Finding*& at = best[finding.first.number];
    const auto rank = [](const Finding* f) {
      return std::pair(tier(f->signature->role), f->signature->weight);
    };
    if (at == nullptr || rank(&finding) > rank(at)) at = &finding;
  }
  std::vector<const Finding*> kept;
  for (const Finding& finding : log.findings) {
    const Finding* first = best.at(finding.first.number);
    if (first == &finding ||
        std::string_view(first->signature->cause) == finding.signature->cause) {
      kept.push_back(&finding);
    }
  }
  return kept;
}

bool stands(const Finding& finding) {
  const Role role = finding.signature->role;
  if (role == Role::at_end) return finding.progress_after == 0 && finding.lines_after <= 60;
  return role != Role::note && role != Role::consequence;
}

// Where a process of this log was told to stop: what comes after it there is hardly the cause.
std::int64_t first_termination(const LogScan& log) {
  constexpr std::string_view kOwn[] = {"paddle_termination_signal", "paddle_sigterm_from",
                                       "ppocr_kill_group"};
  std::int64_t first = INT64_MAX;
  for (const Finding& finding : log.findings) {
    if (!finding.earlier_run &&
        std::find(std::begin(kOwn), std::end(kOwn), finding.signature->id) != std::end(kOwn)) {
      first = std::min(first, finding.first.number);
    }
  }
  return first;
}

class Court {
 public:
  Court(const std::vector<LogScan>& logs, const FailureEvidence& evidence)
      : logs_(logs), evidence_(evidence) {}

  Diagnosis judge();

 private:
  void hear_logs();
  void hear_log(int index);
  void weigh_kernel_kill(const Finding& finding, Clue& clue) const;
  void hear_vanished_workers();
  void hear_exit_code();
  void hear_counters();
  void settle_sigkill();
  void settle_abort();
  void hear_terminations();
  void hear_last_notes();
  void discount_followers();
  void add(const char* cause, Role role, double weight, const char* signature, std::string text);
  bool any(const char* cause, int min_tier) const;
  std::vector<Cause> sum_up() const;
  void add_slowness(Diagnosis& diagnosis) const;
  void add_notes(Diagnosis& diagnosis) const;
  void name_unknown(Diagnosis& diagnosis) const;

  const std::vector<LogScan>& logs_;
  const FailureEvidence& evidence_;
  std::vector<Clue> clues_;
  bool sigkill_ = false;
  bool sigkill_proved_ = false;
};

void Court::add(const char* cause, Role role, double weight, const char* signature,
                std::string text) {
  Clue clue{&find_cause(cause), role, weight, signature, {}, {}, -1};
  clue.line = {signature, 0, std::move(text)};
  clues_.push_back(std::move(clue));
}

bool Court::any(const char* cause, int min_tier) const {
  return std::any_of(clues_.begin(), clues_.end(), [&](const Clue& clue) {
    return std::string_view(clue.cause->name) == cause && tier(clue.role) >= min_tier &&
           clue.weight > 0.2;
  });
}

// A kill in the kernel log is this run's when pid or name say so.
void Court::weigh_kernel_kill(const Finding& finding, Clue& clue) const {
  if (finding.captures.size() < 2 || !starts_with(finding.signature->id, "kernel_oom")) return;
  const bool pid_first = !finding.captures[0].empty() &&
                         std::all_of(finding.captures[0].begin(), finding.captures[0].end(),
                                     [](char c) { return c >= '0' && c <= '9'; });
  const std::string& pid = finding.captures[pid_first ? 0 : 1];
  const std::string& name = finding.captures[pid_first ? 1 : 0];
  for (const LogScan& log : logs_) {
    for (const Finding& other : log.findings) {
      const auto& subjects = other.subjects;
      if (other.signature->role != Role::proof && !pid.empty() &&
          std::find(subjects.begin(), subjects.end(), pid) != subjects.end()) {
        clue.weight = 0.99;
        return;
      }
    }
  }
  if (!is_training_process(name)) clue.weight *= 0.4;
}

void Court::hear_log(int index) {
  const LogScan& log = logs_[static_cast<std::size_t>(index)];
  const std::int64_t termination = first_termination(log);
  for (const Finding* finding : most_telling(log)) {
    if (!stands(*finding)) continue;
    const SignatureRow& signature = *finding->signature;
    Clue clue{&find_cause(signature.cause), signature.role, signature.weight, signature.id, {},
              finding->first.when,          index};
    clue.weight *= survival_factor(*finding, log);
    if (signature.role != Role::proof && finding->first.number > termination) clue.weight *= 0.5;
    weigh_kernel_kill(*finding, clue);
    const LogLine& line = signature.role == Role::generic ? finding->last : finding->first;
    clue.line = {log.file, line.number, line.text};
    if (finding->count > 1) clue.line.text += fmt::format("   ({} such lines)", finding->count);
    clues_.push_back(std::move(clue));
  }
}

void Court::hear_logs() {
  for (std::size_t i = 0; i < logs_.size(); ++i) hear_log(static_cast<int>(i));
}

// A loader worker that is gone without an error of its own was killed: an exception, a bus error
// and a segmentation fault are all reported by the worker itself. Paddle 3 says no more than that.
void Court::hear_vanished_workers() {
  constexpr std::string_view kGone[] = {"paddle_workers_exit", "torch_worker_exit"};
  constexpr std::string_view kOwnWord[] = {"paddle_worker_caught", "torch_worker_traceback",
                                           "paddle_worker_exit"};
  const auto is_one_of = [](const Finding& finding, const auto& ids) {
    return std::find(std::begin(ids), std::end(ids), finding.signature->id) != std::end(ids);
  };
  const Finding* gone = nullptr;
  const LogScan* where = nullptr;
  for (const LogScan& log : logs_) {
    for (const Finding& finding : log.findings) {
      if (is_one_of(finding, kOwnWord)) return;
      if (gone == nullptr && is_one_of(finding, kGone) && !finding.earlier_run &&
          finding.progress_after < 3) {
        gone = &finding;
        where = &log;
      }
    }
  }
  const bool rooted = std::any_of(clues_.begin(), clues_.end(), [](const Clue& clue) {
    return tier(clue.role) == 3 && clue.weight >= 0.4;
  });
  if (gone == nullptr || rooted) return;
  add("host_out_of_memory", Role::symptom, 0.6, "worker_vanished", "");
  clues_.back().line = {where->file, gone->first.number, gone->first.text};
}

void Court::hear_exit_code() {
  if (!evidence_.exit_code || *evidence_.exit_code == 0) return;
  if (evidence_.killed_by_us) return;
  const ExitStatus status = decode_exit(*evidence_.exit_code);
  struct Row {
    int signal;
    const char* cause;
    double weight;
  };
  constexpr Row kRows[] = {
      {SIGKILL, "host_out_of_memory", 0.65}, {SIGBUS, "shm_full", 0.65},
      {SIGSEGV, "segmentation_fault", 0.7},  {SIGABRT, "aborted", 0.5},
      {SIGILL, "illegal_instruction", 0.9},  {SIGTERM, "terminated_from_outside", 0.55},
      {SIGINT, "interrupted_by_user", 0.8},  {SIGHUP, "terminal_hangup", 0.85},
      {SIGXCPU, "time_limit", 0.8},          {SIGXFSZ, "disk_full", 0.6},
      {SIGFPE, "native_exception", 0.6},
  };
  const char* cause = "process_failed";
  double weight = 0.3;
  for (const Row& row : kRows) {
    if (status.signal == row.signal) cause = row.cause, weight = row.weight;
  }
  if (!status.signal && status.code == 124) cause = "time_limit", weight = 0.5;
  if (!status.signal && status.code == 126) cause = "permission_denied", weight = 0.6;
  if (!status.signal && status.code == 127) cause = "missing_file", weight = 0.7;
  add(cause, status.signal || weight > 0.45 ? Role::symptom : Role::generic, weight, kProcessEnd,
      status.text);
}

void Court::hear_counters() {
  const FailureEvidence& e = evidence_;
  if (e.cgroup_oom_kills.value_or(0) > 0) {
    add("cgroup_out_of_memory", Role::proof, 0.96, "counters",
        fmt::format("oom_kill of the control group grew by {}", *e.cgroup_oom_kills));
  } else if (e.host_oom_kills.value_or(0) > 0) {
    add("host_out_of_memory", Role::proof, sigkill_ ? 0.93 : 0.5, "counters",
        fmt::format("oom_kill in /proc/vmstat grew by {}", *e.host_oom_kills));
  }
  if (e.shm_peak_bytes && e.shm_size_bytes && *e.shm_size_bytes > 0 &&
      static_cast<double>(*e.shm_peak_bytes) > 0.95 * static_cast<double>(*e.shm_size_bytes)) {
    add("shm_full", Role::proof, 0.85, "counters",
        fmt::format("/dev/shm held {} of {}", format_bytes(*e.shm_peak_bytes),
                    format_bytes(*e.shm_size_bytes)));
  }
  if (e.descriptors_peak && e.descriptors_limit &&
      *e.descriptors_peak >= *e.descriptors_limit * 49 / 50) {
    add("too_many_open_files", Role::proof, 0.8, "counters",
        fmt::format("{} open files of {}", *e.descriptors_peak, *e.descriptors_limit));
  }
  if (e.gpu_peak_bytes && e.gpu_size_bytes && *e.gpu_size_bytes > 0 &&
      static_cast<double>(*e.gpu_peak_bytes) > 0.97 * static_cast<double>(*e.gpu_size_bytes)) {
    add("gpu_out_of_memory", Role::symptom, 0.4, "counters",
        fmt::format("GPU memory reached {} of {}", format_bytes(*e.gpu_peak_bytes),
                    format_bytes(*e.gpu_size_bytes)));
  }
  if (e.stalled_ranks) {
    add(*e.stalled_ranks > 1 ? "communication_stall" : "stalled", Role::symptom, 0.7, "watch",
        e.killed_why);
    for (const std::string& state : e.wait_states) {
      add(clues_.back().cause->name, Role::symptom, 0.1, "wait states", state);
    }
  }
  if (e.growth && e.growth->low > 0 &&
      e.growth->bytes_per_second * e.growth->seconds > 64.0 * 1048576) {
    add("memory_leak", Role::symptom, sigkill_ ? 0.6 : 0.3, "counters",
        fmt::format("memory grew by {}/s over {}",
                    format_bytes(static_cast<std::uint64_t>(e.growth->bytes_per_second)),
                    format_duration(e.growth->seconds)));
  }
}

// SIGKILL: memory, unless counters say otherwise; and whose limit it was.
void Court::settle_sigkill() {
  const bool cgroup = any("cgroup_out_of_memory", 4);
  const bool guard = any("userspace_oom_kill", 4);
  sigkill_proved_ = cgroup || guard || any("host_out_of_memory", 4);
  if (cgroup || guard) {
    const CauseRow* whose = &find_cause(cgroup ? "cgroup_out_of_memory" : "userspace_oom_kill");
    for (Clue& clue : clues_) {
      const bool loose_kernel_line =
          clue.signature == "kernel_oom_killed_process" || clue.signature == "kernel_oom_invoked" ||
          clue.signature == "kernel_oom_reaper" || clue.signature == "counters";
      if (is_sigkill(clue) ||
          (loose_kernel_line && std::string_view(clue.cause->name) == "host_out_of_memory")) {
        clue.cause = whose;
      }
    }
    return;
  }
  if (!sigkill_ || sigkill_proved_) return;
  const FailureEvidence& e = evidence_;
  const bool at_limit =
      e.peak_bytes && e.limit_bytes && *e.limit_bytes > 0 &&
      static_cast<double>(*e.peak_bytes) > 0.93 * static_cast<double>(*e.limit_bytes);
  if (at_limit) {
    add("cgroup_out_of_memory", Role::primary, 0.8, "counters",
        fmt::format("memory reached {} of {}", format_bytes(*e.peak_bytes),
                    format_bytes(*e.limit_bytes)));
  }
  const bool counted = e.cgroup_oom_kills.has_value() || e.host_oom_kills.has_value();
  if (counted && !at_limit) {
    for (Clue& clue : clues_) {
      if (is_sigkill(clue)) clue.weight *= 0.15;
    }
    add("killed_by_other", Role::primary, 0.75, "counters",
        "SIGKILL, but the kernel's oom_kill counters did not move");
  } else if (!at_limit) {
    add("killed_by_other", Role::symptom, 0.25, "no counters",
        "SIGKILL may also come from a person or a batch system");
  }
}

// An abort after a C++ exception or a failed check says no more than these did.
void Court::settle_abort() {
  if (!any("native_exception", 1)) return;
  for (Clue& clue : clues_) {
    if (std::string_view(clue.cause->name) == "aborted") clue.weight *= 0.3;
  }
}

// Only lines of a clean-up: the process was told to stop, most likely by its launcher.
void Court::hear_terminations() {
  const bool known = std::any_of(clues_.begin(), clues_.end(), [](const Clue& clue) {
    return tier(clue.role) >= 2 && clue.weight >= 0.3;
  });
  if (known) return;
  for (const LogScan& log : logs_) {
    for (const Finding& finding : log.findings) {
      if (finding.signature->role != Role::consequence || finding.earlier_run ||
          finding.progress_after >= 3 || finding.signature->weight < 0.2) {
        continue;
      }
      add("terminated_from_outside", Role::symptom, 0.5, finding.signature->id, "");
      clues_.back().line = {log.file, finding.first.number, finding.first.text};
    }
  }
}

// A failure without a reason of its own, right after lines that are mostly harmless: images that
// cannot be read are skipped until none is left.
void Court::hear_last_notes() {
  const bool known = std::any_of(clues_.begin(), clues_.end(),
                                 [](const Clue& clue) { return tier(clue.role) >= 2; });
  if (known || clues_.empty()) return;
  for (const LogScan& log : logs_) {
    for (const Finding& finding : log.findings) {
      const SignatureRow& signature = *finding.signature;
      if (signature.role != Role::note || finding.earlier_run || signature.weight < 0.5 ||
          find_cause(signature.cause).kind != CauseKind::failure || finding.progress_after >= 3 ||
          finding.lines_after > 40) {
        continue;
      }
      add(signature.cause, Role::symptom, signature.weight, signature.id, "");
      clues_.back().line = {log.file, finding.last.number, finding.last.text};
    }
  }
}

// Whatever is later than the first root cause, or weaker in kind, follows from it.
void Court::discount_followers() {
  const Clue* first = nullptr;
  const auto earlier = [](const Clue& a, const Clue& b) {
    if (a.when && b.when && *a.when != *b.when) return *a.when < *b.when;
    return std::pair(a.file, a.line.line) < std::pair(b.file, b.line.line);
  };
  for (const Clue& clue : clues_) {
    if (tier(clue.role) != 3 || clue.weight < 0.4 || clue.file < 0) continue;
    if (first == nullptr || earlier(clue, *first)) first = &clue;
  }
  const bool proved = std::any_of(clues_.begin(), clues_.end(), [](const Clue& clue) {
    return tier(clue.role) == 4 && clue.weight >= 0.6;
  });
  const bool rooted = first != nullptr || proved;
  const bool seen = std::any_of(clues_.begin(), clues_.end(), [](const Clue& clue) {
    return tier(clue.role) == 2 && clue.weight >= 0.4;
  });
  const CauseRow* root = first == nullptr ? nullptr : first->cause;
  for (Clue& clue : clues_) {
    const int level = tier(clue.role);
    if (level == 3 && root != nullptr && clue.cause != root) clue.weight *= 0.6;
    if (level == 2 && rooted && clue.cause != root) clue.weight *= 0.45;
    // Ranks that lost a killed one report broken or late communication.
    const std::string_view outcome = clue.cause->name;
    if (sigkill_ && level == 2 &&
        (starts_with(outcome, "nccl_") || outcome == "collective_timeout" ||
         outcome == "peer_lost" || outcome == "rendezvous_failed")) {
      clue.weight *= 0.6;
    }
    if (level == 1) clue.weight *= rooted ? 0.35 : seen ? 0.5 : 1.0;
  }
}

std::vector<Cause> Court::sum_up() const {
  std::map<std::string_view, Cause> causes;
  std::map<std::string_view, std::vector<const Clue*>> clues;
  for (const Clue& clue : clues_) clues[clue.cause->name].push_back(&clue);
  for (auto& [name, own] : clues) {
    std::stable_sort(own.begin(), own.end(), [](const Clue* a, const Clue* b) {
      return std::pair(tier(a->role), a->weight) > std::pair(tier(b->role), b->weight);
    });
    Cause& cause = causes[name];
    cause.row = own[0]->cause;
    cause.role = own[0]->role;
    double doubt = 1;
    std::set<std::string> seen;
    for (const Clue* clue : own) {
      const bool again = !seen.insert(clue->signature).second;
      // Lines of one log speak of one event, so each further one adds only a part of its weight.
      doubt *= 1 - clue->weight * (again ? 0.15 : clue == own[0] ? 1.0 : 0.5);
      if (!again) cause.signatures.push_back(clue->signature);
      if (cause.evidence.size() < kMaxEvidence) cause.evidence.push_back(clue->line);
    }
    cause.confidence = std::min(1 - doubt, kSurest);
  }
  std::vector<Cause> sorted;
  for (auto& [name, cause] : causes) {
    if (cause.confidence >= 0.05) sorted.push_back(std::move(cause));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Cause& a, const Cause& b) { return a.confidence > b.confidence; });
  return sorted;
}

void Court::add_slowness(Diagnosis& diagnosis) const {
  for (const LogScan& log : logs_) {
    for (const Finding& finding : log.findings) {
      const CauseRow& row = find_cause(finding.signature->cause);
      if (finding.signature->role != Role::note || row.kind != CauseKind::slowness) continue;
      diagnosis.causes.push_back({&row,
                                  finding.signature->weight,
                                  Role::note,
                                  {{log.file, finding.first.number, finding.first.text}},
                                  {finding.signature->id}});
    }
    if (log.batch_seconds <= 0 || log.reader_seconds < 0.3 * log.batch_seconds) continue;
    const double share = log.reader_seconds / log.batch_seconds;
    diagnosis.causes.push_back({&find_cause("data_loading_bound"),
                                std::min(0.9, 0.3 + 0.7 * share),
                                Role::note,
                                {{log.file, log.last_progress.number,
                                  fmt::format("{} of the step waits for data: {}",
                                              format_percent(share), log.last_progress.text)}},
                                {"reader_cost"}});
  }
}

void Court::add_notes(Diagnosis& diagnosis) const {
  for (const LogScan& log : logs_) {
    for (const Finding& finding : log.findings) {
      const SignatureRow& signature = *finding.signature;
      const CauseRow& row = find_cause(signature.cause);
      if (signature.role == Role::consequence) {
        diagnosis.consequences.push_back({log.file, finding.first.number, finding.first.text});
      } else if (signature.role == Role::note && row.kind == CauseKind::failure) {
        diagnosis.notes.push_back(fmt::format("{}:{}: {} ({} times; {})", log.file,
                                              finding.first.number, finding.first.text,
                                              finding.count, row.name));
      }
    }
    if (log.binary) diagnosis.notes.push_back(log.file + " is mostly not text");
    if (log.bytes == 0) diagnosis.notes.push_back(log.file + " is empty");
  }
  if (evidence_.killed_by_us) {
    diagnosis.notes.push_back("ocrtune itself stopped this run: " + evidence_.killed_why);
  }
  if (!sigkill_) return;
  if (any("nccl_p2p_broken", 3) || any("nccl_error", 3)) {
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

void Court::name_unknown(Diagnosis& diagnosis) const {
  const bool failing_exit = evidence_.exit_code.value_or(0) != 0 && !evidence_.killed_by_us;
  if (!failing_exit) return;
  const bool only_exit =
      std::all_of(diagnosis.causes.begin(), diagnosis.causes.end(), [](const Cause& cause) {
        return cause.confidence < kMinConfidence ||
               std::string_view(cause.row->name) == "process_failed";
      });
  if (!only_exit) return;
  Cause unknown{&find_cause("unknown"), 0.5, Role::generic, {}, {}};
  for (const LogScan& log : logs_) {
    if (!log.last_line.text.empty()) {
      unknown.evidence.push_back({log.file, log.last_line.number, log.last_line.text});
    }
  }
  unknown.evidence.push_back({kProcessEnd, 0, decode_exit(*evidence_.exit_code).text});
  diagnosis.causes.insert(diagnosis.causes.begin(), std::move(unknown));
}

Diagnosis Court::judge() {
  hear_logs();
  hear_vanished_workers();
  hear_exit_code();
  sigkill_ = std::any_of(clues_.begin(), clues_.end(), is_sigkill);
  hear_counters();
  settle_sigkill();
  settle_abort();
  hear_terminations();
  hear_last_notes();
  discount_followers();
  Diagnosis diagnosis;
  diagnosis.causes = sum_up();
  name_unknown(diagnosis);
  diagnosis.failed =
      std::any_of(diagnosis.causes.begin(), diagnosis.causes.end(),
                  [](const Cause& cause) { return cause.confidence >= kMinConfidence; });
  add_slowness(diagnosis);
  add_notes(diagnosis);
  return diagnosis;
}

}  // namespace

Diagnosis diagnose(const std::vector<LogScan>& logs, const FailureEvidence& evidence) {
  return Court(logs, evidence).judge();
}

Diagnosis diagnose_text(std::string_view text, const FailureEvidence& evidence) {
  return diagnose({scan_text("log", text)}, evidence);
}

}  // namespace ocrtune
