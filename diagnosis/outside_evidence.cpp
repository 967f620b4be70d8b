// How a process ended and what the kernel counted, as clues.
#include <algorithm>
#include <cmath>
#include <csignal>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/files.h"
#include "base/text.h"
#include "diagnosis/cause_ranker.h"

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

// Whom a line of the kernel names: "traps: dec[12] ...", "Xid (PCI:...): 31, pid=12, name=dec, Ch
// 8".
struct Victim {
  std::string name, pid;  // empty: not named
};

Victim victim_of(const Finding& finding) {
  static const re2::RE2 kNamed("name=([^, ]+)");
  Victim victim;
  if (re2::RE2::PartialMatch(finding.first.text, kNamed, &victim.name)) return victim;
  for (const std::string& capture : finding.captures) {
    const bool pid = capture.find_first_not_of("0123456789") == std::string::npos;
    std::string& of = pid ? victim.pid : victim.name;
    if (of.empty()) of = capture;
  }
  return victim;
}

// Was the share of a limit reached? Not known: no.
template <typename T>
bool is_full(const std::optional<T>& peak, const std::optional<T>& limit, double share) {
  return peak && limit && *limit > 0 &&
         static_cast<double>(*peak) >= share * static_cast<double>(*limit);
}

}  // namespace

// In a table of several objects the row of one that no log is of, beside the row of one that a log
// is of ("ocr-api.log" of ocr-api-7d9c-abcde, "slurm-512.out" of job 512), tells of a neighbour.
void CauseRanker::weigh_listed_object(const Finding& finding, Clue& clue) const {
  constexpr double kNeighbour = 0.1;
  const LogScan& table = log_of(clue.file);
  const std::string name = listed_object(finding.first.text);
  if (name.empty() || finding.count > 1) return;
  const auto has_log = [&](const std::string& object) {
    return std::ranges::any_of(logs_, [&](const LogScan& log) {
      std::string stem = base_name(log.file);
      stem = stem.substr(0, stem.find('.'));
      return &log != &table && !stem.empty() &&
             (starts_with(object + "-", stem + "-") || ends_with("-" + stem, "-" + object));
    });
  };
  if (!has_log(name) && std::ranges::any_of(table.listed, has_log)) {
    clue.weight *= kNeighbour;
  }
}

// A kill in the kernel log is this run's when pid or name say so, and not when training went on.
void CauseRanker::weigh_kernel_kill(const Finding& finding, Clue& clue) const {
  const std::string_view id = finding.signature->id;
  const bool crash = listed(" kernel_segfault kernel_invalid_opcode kernel_xid_program ", id);
  if (!crash && !starts_with(id, "kernel_oom") && id != "earlyoom_kill") return;
  constexpr double kOther = 0.2;     // another program died
  constexpr double kTolerance = 60;  // seconds between two clocks, and for a last line in a buffer
  for (const LogScan& log : logs_) {
    const std::optional<double>& progress = log.last_progress.when;
    if (finding.last.when && progress && *progress > *finding.last.when + kTolerance) {
      // The program wrote on after the kill, so another one was killed.
      clue.weight *= 0.15;
      return;
    }
  }
  const Victim victim = victim_of(finding);
  // "Command '['gs', ...]' died with <Signals.SIGKILL: 9>"
  const std::string quoted = "'" + victim.name + "'";
  const bool told = !crash && std::ranges::any_of(logs_, [&](const LogScan& log) {
    return std::ranges::any_of(log.findings, [&](const Finding& other) {
      if (other.signature->role == Role::proof || victim.pid.empty()) return false;
      return std::ranges::find(other.subjects, victim.pid) != other.subjects.end() ||
             (other.signature->id == "exit_sigkill" && quoted.size() > 2 &&
              other.first.text.find(quoted) != std::string::npos);
    });
  });
  const bool others = (crash || !victim.pid.empty()) && !is_training_process(victim.name);
  if (told) {
    // A launcher's or a shell's line names the same pid: the kill is the run's own.
    clue.weight = 0.99;
  } else if (others) {
    clue.weight *= kOther;
  }
}

// Seconds by which the clock `a` is in another time zone than `b`, if that explains all but a few
// seconds between them: containers and hosts log in zones of their own. 0: it does not.
double zone_between(double a, double b) {
  // Zones are whole quarters of an hour and at most 14 hours from UTC.
  constexpr double kZoneStep = 900, kFarthest = 14 * 3600, kSkew = 5;
  const double zone = std::round((a - b) / kZoneStep) * kZoneStep;
  const bool explains = std::abs(a - b - zone) <= kSkew && std::abs(zone) <= kFarthest;
  return explains ? zone : 0;
}

// Kernel lines of another kill: long before or after the SIGKILL that the logs tell of.
void CauseRanker::doubt_kills_by_others() {
  constexpr double kFarApart = 600;
  for (Clue& kernel : clues_) {
    if (!starts_with(kernel.signature, "kernel_oom") || kernel.weight >= 0.99) continue;
    bool near = false, far = false;
    for (const Clue& kill : clues_) {
      if (!kill.is_sigkill() || !kill.when || !kernel.when) continue;
      *kernel.when -= zone_between(*kernel.when, *kill.when);
      const bool apart = std::abs(*kill.when - *kernel.when) > kFarApart;
      (apart ? far : near) = true;
    }
    if (far && !near) kernel.weight *= 0.2;
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
  // Weights as those of signatures: how likely the cause is by this end alone. Set by hand.
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
  // 124 is timeout(1)'s; 126 and 127 are a shell's (POSIX): not executable, not found.
  if (!status.signal && status.code == 124) cause = "time_limit", weight = 0.5;
  if (!status.signal && status.code == 126) cause = "permission_denied", weight = 0.6;
  if (!status.signal && status.code == 127) cause = "missing_module", weight = 0.7;
  // Container engines end so where they cannot start the command.
  const bool of_engine = !status.signal && status.code >= 125 && status.code <= 127;
  if (of_engine && any("container_setup_failed", 2)) cause = "container_setup_failed";
  add(cause, status.signal || weight > 0.45 ? Role::symptom : Role::generic, weight, kProcessEnd,
      status.text);
}

void CauseRanker::hear_counters() {
  const FailureEvidence& e = evidence_;
  // The killer sends SIGKILL: without one, the kill was of somebody else in the group.
  if (e.cgroup_oom_kills.value_or(0) > 0) {
    const bool below_limits = e.cgroup_limit_hits == 0;
    const char* whose = !below_limits           ? "cgroup_out_of_memory"
                        : e.bound_nodes.empty() ? "host_out_of_memory"
                                                : "numa_node_full";
    std::string words =
        fmt::format("oom_kill of the control group grew by {}", *e.cgroup_oom_kills);
    if (below_limits) words += ", and none of its limits was reached";
    if (below_limits && !e.bound_nodes.empty()) {
      words += fmt::format(": its memory is bound to NUMA node {}", e.bound_nodes);
    }
    add(whose, sigkill_ ? Role::proof : Role::generic, sigkill_ ? 0.96 : 0.2, "counters",
        std::move(words));
  } else if (sigkill_ && !e.cgroup_oom_kills && e.host_oom_kills.value_or(0) > 0) {
    // The counter is the whole machine's, and nothing says whose kill it was.
    add("host_out_of_memory", Role::symptom, 0.5, "counters",
        fmt::format("oom_kill in /proc/vmstat grew by {}", *e.host_oom_kills));
  }
  // The shares are guesses: readings are seconds apart, and the last bytes are seldom seen.
  if (is_full(e.shm_peak_bytes, e.shm_size_bytes, 0.95)) {
    add("shm_full", Role::proof, 0.85, "counters",
        fmt::format("/dev/shm held {} of {}", format_bytes(*e.shm_peak_bytes),
                    format_bytes(*e.shm_size_bytes)));
  }
  if (is_full(e.descriptors_peak, e.descriptors_limit, 0.98)) {
    add("too_many_open_files", Role::proof, 0.8, "counters",
        fmt::format("{} open files of {}", *e.descriptors_peak, *e.descriptors_limit));
  }
  if (is_full(e.gpu_peak_bytes, e.gpu_size_bytes, 0.97)) {
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
      // 64 MiB in all: less is within what allocators keep.
      e.growth->bytes_per_second * e.growth->seconds > 64.0 * 1048576) {
    add("memory_leak", Role::symptom, sigkill_ ? 0.6 : 0.3, "counters",
        fmt::format("memory grew by {}/s over {}",
                    format_bytes(static_cast<std::uint64_t>(e.growth->bytes_per_second)),
                    format_duration(e.growth->seconds)));
  }
}

// Whose limit it was, where a kernel, a scheduler or a guard says that it killed for memory.
bool CauseRanker::name_the_limit() {
  const auto killed = [&](std::string_view signatures) {
    return any_clue(
        [&](const Clue& clue) { return listed(signatures, clue.signature) && clue.weight > 0.2; });
  };
  const bool node = any("numa_node_full", 4);
  const bool host = node || killed(" kernel_oom_host ");
  // A group counts each kill in it, whatever was full, and systemd says that a unit's process was
  // killed; the kernel says for whose want of memory.
  const bool guard = any("userspace_oom_kill", 4);
  for (Clue& clue : clues_) {
    const bool counted = clue.signature == "counters" && clue.name() == "cgroup_out_of_memory";
    const bool of_unit = clue.signature == "systemd_unit_oom";
    if (!(host && (counted || of_unit)) && !(guard && of_unit)) continue;
    clue.cause = &find_cause(!host             ? "userspace_oom_kill"
                             : node && counted ? "numa_node_full"
                                               : "host_out_of_memory");
  }
  const bool cgroup = any("cgroup_out_of_memory", 4);
  if (!cgroup && !guard && !node) return any("host_out_of_memory", 4);
  // Of a full node and of a full machine the kernel says "Out of memory: Killed process" alike.
  std::string loose = " kernel_oom_killed_process kernel_oom_invoked kernel_oom_reaper counters ";
  if (node && !cgroup) loose += "kernel_oom_host systemd_unit_oom ";
  const CauseRow* whose = &find_cause(cgroup ? "cgroup_out_of_memory"
                                      : node ? "numa_node_full"
                                             : "userspace_oom_kill");
  for (Clue& clue : clues_) {
    if (clue.is_sigkill() || (listed(loose, clue.signature) && clue.name() == "host_out_of_memory"))
      clue.cause = whose;
  }
  return true;
}

// A launcher, a shell and an exit status that tell of one death are one witness. Memory is a loader
// worker's usual end; of a rank nobody knows.
void CauseRanker::count_one_death() {
  constexpr double kWhole = 0.6, kOfARank = 0.48, kEcho = 0.05;
  const auto weight = [](const Clue& clue) { return clue.is_sigkill() ? clue.weight : -1; };
  const auto strongest = std::ranges::max_element(clues_, {}, weight);
  const double told = strongest->weight;  // of a SIGKILL that the run survived, little is left
  for (Clue& clue : clues_) {
    if (clue.is_sigkill() && &clue != &*strongest) clue.weight *= kEcho;
  }
  if (tier(strongest->role) < 3) strongest->weight = std::min(told, kOfARank);
  add("killed_by_other", Role::symptom, 0.25 * std::min(1.0, told / kWhole), kReason,
      "SIGKILL may also come from a person or a batch system");
}

// SIGKILL: memory, unless counters or a clean kernel log say otherwise.
void CauseRanker::settle_sigkill() {
  sigkill_proved_ = name_the_limit();
  if (!sigkill_ || sigkill_proved_) return;
  const FailureEvidence& e = evidence_;
  if (is_full(e.peak_bytes, e.limit_bytes, 0.93)) {
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
  const KernelLog kernel = kernel_log_of_the_end();
  if (stood) {
    doubt(0.15, Role::primary, 0.75, "counters",
          e.host_oom_kills.value_or(0) > 0
              ? "SIGKILL, but the out-of-memory kill that was counted was not in this control group"
              : "SIGKILL, but the kernel's oom_kill counters did not move");
  } else if (!seen(logs_, " kills_the_rest ").empty() || any("killed_by_other", 3)) {
    doubt(0.15, Role::primary, 0, "", "");
  } else if (kernel == KernelLog::spans_the_end) {
    doubt(0.15, Role::primary, 0.75, kReason,
          "SIGKILL, but the kernel log goes beyond it and holds no out-of-memory kill");
  } else if (kernel == KernelLog::clean) {
    doubt(0.5, Role::symptom, 0.45, kReason,
          "SIGKILL, but the kernel log holds no out-of-memory kill");
  } else if (!seen(logs_, " docker_not_oom ").empty()) {  // the whole machine's memory remains
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
    if (clue.name() == "aborted") clue.weight *= 0.3;
  }
}

}  // namespace ocrtune
