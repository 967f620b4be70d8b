// What is known about a dead run apart from its logs: how it ended, what the kernel counted, what a
// supervised run recorded. All optional: what is not known is not guessed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// How a process ended, as an exit code says it in any of its dialects.
struct ExitStatus {
  std::optional<int> signal;  // 9 for -9, 137 and 247
  int code = 0;               // as given
  std::string text;           // "137: killed by signal 9 (SIGKILL)"
};

// -n (Popen), 128 + n (shells, containers), 256 - n (a negative code cut to a byte).
ExitStatus decode_exit(std::int64_t code);

// Straight line through a memory trace.
struct GrowthEvidence {
  double bytes_per_second = 0, low = 0, high = 0;  // 95 % interval
  double seconds = 0;                              // how long it was watched
};

struct FailureEvidence {
  std::optional<std::int64_t> exit_code;
  bool killed_by_us = false;  // the signal was ocrtune's own: time-out, limit, Ctrl-C
  std::string killed_why;     // its reason

  // Growth of oom_kill over the run, in the control groups that its processes are in; and in
  // /proc/vmstat, where the whole machine's kills count. 0 when the kernel log names others alone.
  std::optional<std::int64_t> cgroup_oom_kills, host_oom_kills;
  // How often a memory limit of these groups or of one above was reached meanwhile.
  std::optional<std::int64_t> cgroup_limit_hits;
  std::string bound_nodes;  // NUMA nodes that its memory was bound to, "1"; "": to none
  std::optional<std::uint64_t> peak_bytes, limit_bytes;
  std::optional<std::uint64_t> shm_peak_bytes, shm_size_bytes;
  std::optional<std::int64_t> descriptors_peak, descriptors_limit;
  std::optional<GrowthEvidence> growth;
  std::optional<double> silent_seconds;  // since the last progress when it was stopped
  std::optional<std::uint64_t> gpu_peak_bytes, gpu_size_bytes;  // of the fullest GPU
  std::optional<std::int64_t> stalled_ranks;  // killed_why says how no step ended any more
  std::vector<std::string> wait_states;       // where the threads of a stalled run slept
};

// {"exit_code":137,"oom_kill_delta":1,"peak_bytes":...}: the file evidence.json of a run folder.
Result<FailureEvidence> parse_evidence(const std::string& json);
std::string evidence_json(const FailureEvidence& evidence);

}  // namespace ocrtune
