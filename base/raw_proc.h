// /proc, signals and descriptors by async-signal-safe calls only: nothing here allocates or locks,
// so a forked child that has not called exec may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ocrtune {

// One line of /proc/<pid>/stat. Pid and start time together are a process's identity.
struct ProcessStat {
  int pid = 0, parent = 0, session = 0;
  char state = '?';
  std::uint64_t start_ticks = 0;     // since boot
  std::uint64_t cpu_ticks = 0;       // user and system, threads that have ended included
  std::uint64_t children_ticks = 0;  // of children that have ended and were waited for
  std::uint64_t system_ticks = 0, children_system_ticks = 0;  // of these, in the kernel
  std::uint64_t minor_faults = 0, major_faults = 0;
  std::uint64_t children_minor_faults = 0;  // of children that were waited for
  std::uint64_t children_major_faults = 0;
  std::string_view name;  // as the kernel has it; points into the line

  bool ended() const { return state == 'Z' || state == 'X'; }
};

// The unit of the CPU times in /proc.
double ticks_per_second();
double tick_seconds(std::uint64_t ticks);

inline constexpr std::size_t kStatBytes = 1024;
inline constexpr std::size_t kProcPathBytes = 64;

// "/proc/<pid>/<file>" into `path` (kProcPathBytes).
void proc_path(int pid, const char* file, char* path);

bool parse_stat_line(std::string_view line, ProcessStat& stat);

// `block` (kStatBytes) keeps the text that stat.name points into. False: there is no such process.
bool read_process_stat(int pid, char* block, ProcessStat& stat);

// Of "Key:\tvalue" in a file such as /proc/<pid>/status: points into the text. Empty: no such key.
std::optional<std::string_view> status_value(std::string_view text, std::string_view key);

// Signals the process that had this pid at this start time, and no other that has the pid now.
// False: it is gone, or may not be signalled.
bool signal_exactly(int pid, std::uint64_t start_ticks, int number);

// Calls visit(number, context) for each entry of a folder whose name is a number: pids of /proc,
// descriptors of /proc/self/fd (its own left out there). False: the folder cannot be read.
bool for_each_number(const char* folder, void (*visit)(int number, void* context), void* context);

// Every descriptor from `first` on: closed at once, or by a coming exec. Also where the kernel has
// no close_range(2) or a seccomp filter refuses it.
void close_from(int first);
void close_from_on_exec(int first);

}  // namespace ocrtune
