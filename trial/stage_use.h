// Where a trial's CPU time and its waiting went while it was measured: a part of Trial.
//
// Shares are of the time that was observed, means over the trial. What a thread waits for is read
// from /proc by looks at intervals; threads that never ran between the looks are left out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ocrtune {

// A variable that sizes a thread pool, with the value that a process was started with.
struct LauncherVariable {
  std::string name, value;
  std::string text() const { return name + "=" + value; }
};

struct StageUse {
  double observed_seconds = 0;  // 0: nobody looked
  std::int64_t looks = 0;       // at the threads' states; 0: not allowed

  // Of the thread that is busy for the largest part of its time.
  double busiest_thread_cpus = 0;   // that it ran on, at most 1
  double busiest_thread_share = 0;  // of the time that it did not wait for a CPU
  std::string busiest_thread;       // its name
  std::string busiest_process;      // name of its process
  double busiest_process_cpus = 0;  // of the process that ran most
  double saturated_threads = 0;     // that are busy nearly all the time
  int allowed_cpus = 0;             // that the busy threads may use; 0: unknown
  std::string allowed_list;         // these, "0,4-7"
  double starts_per_second = 0;     // of processes that come and go
  double system_share = 0;          // of the CPU time, in the kernel
  double minor_faults_per_second = 0;
  double major_faults_per_second = 0;

  double storage_bytes_per_second = 0;  // read from the disk, of all processes
  double written_bytes_per_second = 0;  // to the disk
  double read_bytes_per_second = 0;     // read by system calls, page cache included
  // Size of the regular files seen open for reading, and of those of their data sets.
  std::uint64_t opened_bytes = 0;
  std::int64_t opened_count = 0;                                 // of these files
  std::shared_ptr<const std::vector<std::string>> opened_files;  // theirs; null: of a stored trial

  // Mean number of threads in each state at a look.
  double running_threads = 0;   // running or waiting for a CPU
  double disk_threads = 0;      // in uninterruptible sleep
  double lock_threads = 0;      // in futex
  double mutex_threads = 0;     // of these, waiting for a mutex that another thread holds
  double network_threads = 0;   // in poll, epoll, select, recv, accept
  double sleeping_threads = 0;  // in nanosleep
  double pipe_threads = 0;      // in read or write of a pipe
  double fed_threads = 0;       // of these, in processes where nothing waits in another way
  double child_threads = 0;     // waiting for the end of a child process
  double asking_threads = 0;    // of those that run, in a loop of system calls that bring nothing

  // Of the memory of the busiest process, on other NUMA nodes than its threads run on; below 0: not
  // known, or there is one node.
  double remote_share = -1;
  std::string memory_nodes;  // that hold most of it, "0,2"
  std::string thread_nodes;  // where the threads run

  // Where the processes that compute were started with other values than the command: torchrun and
  // Dask set them where nobody has, scripts and Ray's runtime_env over what they were given.
  std::vector<LauncherVariable> launcher_set;

  double data_share = -1;  // of a step, waiting for data, by the log; below 0: not told
  double first_rate = 0;   // of the first third of the windows; 0: too few
  double last_rate = 0;    // of the last third
};

}  // namespace ocrtune
