// A child process: started without a shell, its output kept in a bounded ring, waited for with a
// deadline.
//
// PR_SET_PDEATHSIG is bound to the *thread* that starts the child: start from a thread that lives
// as long as the child does, or have it guarded. Everything that a child leaves behind is
// base/process_tree.h's work.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/cpu_set.h"
#include "base/result.h"

namespace ocrtune {

struct ProcessOptions {
  std::vector<std::string> arguments;  // argv; the first is looked up in PATH unless it has a '/'
  // Added to the inherited environment; the last one of a name wins. A name with a value of
  // nullopt is removed.
  std::vector<std::pair<std::string, std::optional<std::string>>> environment;
  std::string directory;                 // working directory; empty: ours
  std::vector<int> descriptors;          // ours that the child keeps, under the same numbers
  int input = -1;                        // ours that becomes its standard input; -1: empty
  int errors = -1;                       // ours that becomes its stderr; -1: it joins stdout
  CpuSet cpus;                           // affinity mask; empty: inherited
  bool new_session = true;               // setsid: a kill of its group cannot reach us
  bool die_with_us = true;               // SIGKILL when the starting thread ends
  bool guarded = false;                  // base/orphan_guard.h: so does all that descends from it
  std::vector<std::string> join_groups;  // cgroup.procs files that it enters before it runs
  int oom_score_adjust = 0;  // above 0: the kernel's OOM killer prefers it to us; 0: as we are
  std::uint64_t data_limit_bytes = 0;     // RLIMIT_DATA: private writable memory; 0: as we are
  std::uint64_t address_limit_bytes = 0;  // RLIMIT_AS; breaks CUDA and sanitizers; 0: as we are
  std::size_t output_bytes = 64 << 10;    // how much of the end of stdout + stderr is kept
};

struct ProcessExit {
  int code = 0;    // exit code; meaningful when signal is 0
  int signal = 0;  // the signal that ended it
  double cpu_seconds = 0;
  std::uint64_t peak_rss_bytes = 0;

  bool clean() const { return code == 0 && signal == 0; }
  std::string text() const;  // "exit code 3", "killed by SIGKILL"
};

std::string own_program();  // the absolute path of this executable

// True for a child (a guarded one's guard) that Process::start has started and nobody has reaped
// yet.
bool started_here(int pid);

std::string signal_name(int number);  // "SIGKILL"; "signal 77" when it has no name

// The absolute path that exec would run. missing: not found; denied: there but not executable.
Result<std::string> find_executable(const std::string& name);

// The last bytes of a stream of any length.
class OutputRing {
 public:
  explicit OutputRing(std::size_t max_bytes) : max_bytes_(max_bytes) {}
  void append(std::string_view bytes);
  std::uint64_t total_bytes() const { return total_bytes_; }
  std::string contents() const;
  // The last lines, whole ones where possible, as valid UTF-8.
  std::string tail(std::size_t max_lines) const;

 private:
  std::size_t max_bytes_;
  std::string bytes_;  // at most twice max_bytes_, trimmed now and then
  std::uint64_t total_bytes_ = 0;
};

class Process {
 public:
  // missing, denied: no such program or folder; failed: fork or exec refused.
  static Result<Process> start(const ProcessOptions& options);

  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  // SIGKILL and reap, if it still runs, for 5 s. Descendants die if it is guarded, and are not
  // touched otherwise.
  ~Process();

  int pid() const { return pid_; }
  int guard_pid() const { return guard_; }  // -1: not guarded
  // For poll(); -1 once the output has ended. stdout and stderr share one pipe.
  int output_descriptor() const { return output_; }
  const OutputRing& output() const { return ring_; }
  // Reads what is there without blocking, at most 1 MiB a call; `sink` (may be empty) sees every
  // piece. Returns the bytes read.
  std::size_t read_output(const std::function<void(std::string_view)>& sink);
  // Hears what is read with an empty sink: in wait() and while a tree is stopped.
  void set_listener(std::function<void(std::string_view)> sink) { listener_ = std::move(sink); }

  // Reaps without blocking; empty while it runs. The output may hold more after the exit.
  const std::optional<ProcessExit>& poll_exit();
  // Waits, draining the output, until it exits or `seconds` have passed.
  const std::optional<ProcessExit>& wait(double seconds, Clock& clock = steady_clock());
  void signal(int number);  // no effect once it has been reaped

 private:
  explicit Process(std::size_t output_bytes) : ring_(output_bytes) {}
  void close_output();

  int pid_ = -1;
  int guard_ = -1;
  int connection_ = -1;  // to the guard
  int output_ = -1;
  OutputRing ring_;
  std::function<void(std::string_view)> listener_;
  std::optional<ProcessExit> exit_;
};

}  // namespace ocrtune
