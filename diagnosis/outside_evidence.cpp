// How a process ended and what the kernel counted, as clues.
#include <algorithm>
#include <cmath>
#include <csignal>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "diagnosis/cause_ranker.h"
#include "diagnosis/run_times.h"

namespace ocrtune {
namespace {

bool is_training_process(std::string_view name) {
  const std::string word = lower(name);
  if (word.empty()) return true;
  static const re2::RE2 kNames(
      "python|pt_|paddle|train|torch|ray|ocr|burn|infer|worker|mpirun|data|loader|gpu|vllm|sglang|"
      "engine|serve|celery|gunicorn|uvicorn|mineru|docling|marker|surya|tesseract|api");
  return re2::RE2::PartialMatch(word, kNames);
}

// The name of the process that a line of the kernel's killer names beside its pid.
const std::string& victim_of(const Finding& kill) {
  const std::string& first = kill.captures[0];
  const bool pid_first = first.find_first_not_of("0123456789") == std::string::npos;
  return pid_first ? kill.captures[1] : first;
}

// "traps: dec[12] ...", "NVRM: Xid (PCI:...): 31, pid=12, name=dec, Ch 8"; empty: it names none.
std::string crashed_program(const Finding& crash) {
  if (!starts_with(crash.signature->id, "kernel_xid")) {
    return crash.captures.empty() ? "" : crash.captures[0];
  }
  constexpr std::string_view kKey = "name=";
  const std::string_view text = crash.first.text;
  const std::size_t at = text.find(kKey);
  if (at == std::string_view::npos) return "";
  const std::string_view name = text.substr(at + kKey.size());
  return std::string(name.substr(0, name.find_first_of(", ")));
}

// Does the kernel's killer name its victims there, none of them a training process?
bool names_others_alone(const LogScan& log) {
  bool named = false;
  for (const Finding& finding : log.findings) {
    if (!starts_with(finding.signature->id, "kernel_oom") || finding.captures.size() < 2) continue;
    const std::string& name = victim_of(finding);
    if (starts_with(name, "/")) continue;  // a control group
    if (is_training_process(name)) return false;
    named = true;
  }
  return named;
}

bool any_says(const std::vector<LogScan>& logs, std::string_view signature) {
  return std::any_of(logs.begin(), logs.end(), [&](const LogScan& log) {
    return std::any_of(log.findings.begin(), log.findings.end(),
                       [&](const Finding& finding) { return finding.signature->id == signature; });
  });
}

// Pids that the logs name where they tell of a SIGKILL.
std::vector<std::string> killed_pids(const std::vector<Clue>& clues) {
  static const re2::RE2 kPid(R"(pid[s():= ]*(\d+))");
  std::vector<std::string> pids;
  std::string pid;
  for (const Clue& clue : clues) {
    re2::StringPiece text(clue.line.text);
    while (clue.is_sigkill() && re2::RE2::FindAndConsume(&text, kPid, &pid)) pids.push_back(pid);
  }
  return pids;
}

}  // namespace

// In a table of several objects the row of one that no log is of, beside the row of one that a log
// is of ("ocr-api.log" of ocr-api-7d9c-abcde), tells of a neighbour.
void CauseRanker::weigh_listed_object(const Finding& finding, Clue& clue) const {
  constexpr double kNeighbour = 0.1;
  const LogScan& table = logs_[static_cast<std::size_t>(clue.file)];
  const std::string name = listed_object(finding.first.text);
  if (name.empty() || finding.count > 1) return;
  const auto has_log = [&](const std::string& object) {
    return std::any_of(logs_.begin(), logs_.end(), [&](const LogScan& log) {
      std::string stem = log.file.substr(log.file.rfind('/') + 1);
      stem = stem.substr(0, stem.find('.'));
      return &log != &table && !stem.empty() && starts_with(object + "-", stem + "-");
    });
  };
  if (!has_log(name) && std::any_of(table.listed.begin(), table.listed.end(), has_log)) {
    clue.weight *= kNeighbour;
  }
}

// A kill in the kernel log is this run's when pid or name say so, and not when training went on.
void CauseRanker::weigh_kernel_kill(const Finding& finding, Clue& clue) const {
  const std::string_view id = finding.signature->id;
  const bool crash = id == "kernel_segfault" || id == "kernel_invalid_opcode" ||
                     id == "kernel_general_protection" || id == "kernel_xid_program";
  if (!crash && !starts_with(id, "kernel_oom")) return;
  constexpr double kOther = 0.2;     // another program died
  constexpr double kTolerance = 60;  // seconds between two clocks, and for a last line in a buffer
  for (const LogScan& log : logs_) {
    const std::optional<double>& progress = log.last_progress.when;
    if (finding.last.when && progress && *progress > *finding.last.when + kTolerance) {
      clue.weight *= 0.15;
      return;
    }
  }
  if (crash) {
    if (!is_training_process(crashed_program(finding))) clue.weight *= kOther;
    return;
  }
  if (finding.captures.size() < 2) {
    if (names_others_alone(logs_[static_cast<std::size_t>(clue.file)])) clue.weight *= kOther;
    return;
  }
  const std::string& name = victim_of(finding);
  const std::string& pid = finding.captures[&name == &finding.captures[0] ? 1 : 0];
  for (const LogScan& log : logs_) {
    for (const Finding& told : log.findings) {
      const auto& subjects = told.subjects;
      if (told.signature->role == Role::proof) continue;
      const bool by_pid =
          !pid.empty() && std::find(subjects.begin(), subjects.end(), pid) != subjects.end();
      // "Command '['gs', ...]' died with <Signals.SIGKILL: 9>"
      const bool by_name = told.signature->id == std::string_view("exit_sigkill") &&
                           !name.empty() &&
                           told.first.text.find("'" + name + "'") != std::string::npos;
      if (!by_pid && !by_name) continue;
      clue.weight = 0.99;
      return;
    }
  }
  if (!is_training_process(name)) clue.weight *= kOther;
}

// Seconds by which the clock `a` is in another time zone than `b`, if that explains all but a few
// seconds between them: containers and hosts log in zones of their own. 0: it does not.
double zone_between(double a, double b) {
  constexpr double kZoneStep = 900, kFarthest = 14 * 3600, kSkew = 5;
  const double zone = std::round((a - b) / kZoneStep) * kZoneStep;
  const bool explains = std::abs(a - b - zone) <= kSkew && std::abs(zone) <= kFarthest;
  return explains ? zone : 0;
}

// Kernel lines of another kill: long before or after the SIGKILL that the logs tell of. Another pid
// alone says less, because containers number their processes anew.
void CauseRanker::doubt_kills_by_others() {
  constexpr double kFarApart = 600;
  const std::vector<std::string> pids = killed_pids(clues_);
  for (Clue& kernel : clues_) {
    if (!starts_with(kernel.signature, "kernel_oom") || kernel.weight >= 0.99) continue;
    bool near = false, far = false;
    for (const Clue& kill : clues_) {
      if (!kill.is_sigkill() || !kill.when || !kernel.when) continue;
      *kernel.when -= zone_between(*kernel.when, *kill.when);
      const bool apart = std::abs(*kill.when - *kernel.when) > kFarApart;
      (apart ? far : near) = true;
    }
    if (far && !near) {
      kernel.weight *= 0.2;
    } else if (!pids.empty() && !near) {
      kernel.weight *= 0.85;
    }
  }
}

void CauseRanker::hear_exit_code() {
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

void CauseRanker::hear_counters() {
  const FailureEvidence& e = evidence_;
  // The killer sends SIGKILL: without one, the kill was of somebody else in the group.
  if (e.cgroup_oom_kills.value_or(0) > 0) {
    add("cgroup_out_of_memory", sigkill_ ? Role::proof : Role::generic, sigkill_ ? 0.96 : 0.2,
        "counters", fmt::format("oom_kill of the control group grew by {}", *e.cgroup_oom_kills));
  } else if (sigkill_ && !e.cgroup_oom_kills && e.host_oom_kills.value_or(0) > 0) {
    // The counter is the whole machine's, and nothing says whose kill it was.
    add("host_out_of_memory", Role::symptom, 0.5, "counters",
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

// Whose limit it was, where a kernel, a scheduler or a guard says that it killed for memory.
bool CauseRanker::name_the_limit() {
  // systemd says that a unit's process was killed, the kernel for whose want of memory.
  const auto says_host = [](const Clue& clue) {
    return (clue.signature == "kernel_oom_host" || clue.signature == "kernel_oom_node") &&
           clue.weight > 0.2;
  };
  if (std::any_of(clues_.begin(), clues_.end(), says_host)) {
    for (Clue& clue : clues_) {
      if (clue.signature == "systemd_unit_oom") clue.cause = &find_cause("host_out_of_memory");
    }
  }
  const bool cgroup = any("cgroup_out_of_memory", 4);
  const bool guard = any("userspace_oom_kill", 4);
  if (!cgroup && !guard) return any("host_out_of_memory", 4);
  const CauseRow* whose = &find_cause(cgroup ? "cgroup_out_of_memory" : "userspace_oom_kill");
  for (Clue& clue : clues_) {
    const bool loose_kernel_line =
        clue.signature == "kernel_oom_killed_process" || clue.signature == "kernel_oom_invoked" ||
        clue.signature == "kernel_oom_reaper" || clue.signature == "counters";
    if (clue.is_sigkill() ||
        (loose_kernel_line && std::string_view(clue.cause->name) == "host_out_of_memory")) {
      clue.cause = whose;
    }
  }
  return true;
}

// A launcher, a shell and an exit status that tell of one death are one witness. Memory is a loader
// worker's usual end; of a rank nobody knows.
void CauseRanker::count_one_death() {
  constexpr double kWhole = 0.6, kOfARank = 0.48, kEcho = 0.05;
  Clue* strongest = nullptr;  // of a SIGKILL that the run survived, little is left
  for (Clue& clue : clues_) {
    if (!clue.is_sigkill()) continue;
    const bool more = strongest == nullptr || clue.weight > strongest->weight;
    if (more && strongest != nullptr) strongest->weight *= kEcho;
    if (more) strongest = &clue;
    if (!more) clue.weight *= kEcho;
  }
  const double told = strongest->weight;
  if (tier(strongest->role) < 3) strongest->weight = std::min(told, kOfARank);
  add("killed_by_other", Role::symptom, 0.25 * std::min(1.0, told / kWhole), kReason,
      "SIGKILL may also come from a person or a batch system");
}

// SIGKILL: memory, unless counters or a clean kernel log say otherwise.
void CauseRanker::settle_sigkill() {
  sigkill_proved_ = name_the_limit();
  if (!sigkill_ || sigkill_proved_) return;
  const FailureEvidence& e = evidence_;
  const bool at_limit =
      e.peak_bytes && e.limit_bytes && *e.limit_bytes > 0 &&
      static_cast<double>(*e.peak_bytes) > 0.93 * static_cast<double>(*e.limit_bytes);
  if (at_limit) {
    return add("cgroup_out_of_memory", Role::primary, 0.8, "counters",
               fmt::format("memory reached {} of {}", format_bytes(*e.peak_bytes),
                           format_bytes(*e.limit_bytes)));
  }
  const auto doubt = [&](double left, Role role, double weight, const char* by, const char* why) {
    for (Clue& clue : clues_) {
      if (clue.is_sigkill()) clue.weight *= left;
    }
    if (weight > 0) add("killed_by_other", role, weight, by, why);
  };
  // The machine's count says nothing of whose a kill was, unless it stood still.
  const bool stood = e.cgroup_oom_kills.has_value() || e.host_oom_kills == 0;
  const KernelLog kernel = kernel_log_of_the_end(logs_);
  if (stood) {
    doubt(0.15, Role::primary, 0.75, "counters",
          e.host_oom_kills.value_or(0) > 0
              ? "SIGKILL, but the out-of-memory kill that was counted was not in this control group"
              : "SIGKILL, but the kernel's oom_kill counters did not move");
  } else if (any_says(logs_, "kills_the_rest")) {
    doubt(0.15, Role::primary, 0, "", "");
  } else if (kernel == KernelLog::spans_the_end) {
    doubt(0.15, Role::primary, 0.75, kReason,
          "SIGKILL, but the kernel log goes beyond it and holds no out-of-memory kill");
  } else if (kernel == KernelLog::clean) {
    doubt(0.5, Role::symptom, 0.45, kReason,
          "SIGKILL, but the kernel log holds no out-of-memory kill");
  } else if (any_says(logs_, "docker_not_oom")) {  // the whole machine's memory remains
    doubt(0.4, Role::primary, 0.6, kReason,
          "SIGKILL, but the container engine saw no out-of-memory kill in the container");
  } else {
    count_one_death();
  }
}

// An abort after a C++ exception or a failed check says no more than these did.
void CauseRanker::settle_abort() {
  if (!any("native_exception", 1)) return;
  for (Clue& clue : clues_) {
    if (std::string_view(clue.cause->name) == "aborted") clue.weight *= 0.3;
  }
}

}  // namespace ocrtune
