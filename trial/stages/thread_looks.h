// What the threads of a trial wait for, by looks at all of them at intervals.
//
// A look reads /proc/<pid>/task/<tid>/{schedstat,stat,wchan} and, of those that wait in futex or
// poll, syscall: about 20 us for each thread. wchan and syscall need no more rights than a parent
// has, unless a kernel hides them; then a waiting thread counts for nothing.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/process_tree.h"
#include "trial/stage_use.h"
#include "trial/stages/wait_kind.h"

namespace ocrtune {

class ThreadLooks {
 public:
  explicit ThreadLooks(FileRoot root = FileRoot()) : root_(std::move(root)) {}

  void look(double now, const std::vector<ProcessFacts>& members);
  // Looks and the mean number of threads in each state. Threads that never ran between the first
  // and the last look at them wait for nothing that matters: a pool without work, the main thread
  // of a program whose work is elsewhere.
  void fill(StageUse& use) const;
  // Of a thread that was looked at; empty: it never was.
  std::string name_of(int thread) const;
  std::string process_of(int thread) const;

 private:
  struct Seen {
    std::string name, process;
    int pid = 0;
    std::uint64_t first_runs = 0, last_runs = 0;  // times that it got a CPU
    struct Spent {
      double cpu_seconds = 0, system_seconds = 0, faults = 0;
    };
    Spent first, last;
    double first_seconds = 0, last_seconds = 0;  // of these looks
    std::array<int, kWaitKinds> looks = {};
  };

  bool waits_for_nothing(const Seen& seen) const;
  bool waits_for_interpreter(const Seen& seen) const;
  bool asks(const Seen& seen) const;
  void look_at(double now, const std::string& folder, const ProcessFacts& process, int thread);

  FileRoot root_;
  std::int64_t looks_ = 0;
  std::map<int, Seen> threads_;
};

}  // namespace ocrtune
