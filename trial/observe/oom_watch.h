// Was it the out-of-memory killer? The kernel's own counts before and after a trial, and its log.
//
// A process that dies by SIGKILL was killed by somebody; only counters that grew meanwhile, or a
// line of the kernel log that names the process, make it the kernel.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "diagnosis/failure_evidence.h"

namespace ocrtune {

struct OomCounts {
  std::optional<std::uint64_t> host;            // oom_kill of /proc/vmstat
  std::map<std::string, std::uint64_t> groups;  // control group -> its oom_kill
};

OomCounts read_oom_counts(const FileRoot& root);

struct OomVerdict {
  bool killed = false;
  std::string cause;  // "cgroup" or "host"
  std::vector<std::string> evidence;
};

// `kernel_log`: lines since the trial began (empty where it may not be read); `pids`: the tree's.
OomVerdict judge_oom(const OomCounts& before, const OomCounts& after,
                     const std::vector<std::string>& kernel_log, const std::vector<int>& pids);

// How far the counts grew, for the diagnosis: a kill while they stood still was no lack of memory.
void note_oom_growth(const OomCounts& before, const OomCounts& after, FailureEvidence& evidence);

// Lines of the kernel's log with a time stamp at or after `since_seconds` of CLOCK_MONOTONIC, which
// is near the log's own clock; empty when it may not be read.
std::vector<std::string> kernel_log_since(double since_seconds);

// The text of the log as klogctl gives it ("<6>[   12.345678] words"), cut at `since_seconds`.
std::vector<std::string> lines_since(const std::string& log, double since_seconds);

}  // namespace ocrtune
