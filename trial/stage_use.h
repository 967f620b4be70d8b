// Where a trial's CPU time and its waiting went while it was measured: a part of Trial.
//
// Shares are of the time that was observed, means over the trial. What a thread waits for is read
// from /proc by looks at intervals; a look counts each thread that is not asleep for good.
#pragma once

#include <cstdint>
#include <string>

namespace ocrtune {

struct StageUse {
  double observed_seconds = 0;  // 0: nobody looked
  std::int64_t looks = 0;       // at the threads' states; 0: not allowed

  double busiest_thread_cpus = 0;   // of the thread that ran most, at most 1
  std::string busiest_thread;       // its name
  std::string busiest_process;      // name of its process
  double busiest_process_cpus = 0;  // of the process that ran most
  double system_share = 0;          // of the CPU time, in the kernel
  double minor_faults_per_second = 0;
  double major_faults_per_second = 0;

  double storage_bytes_per_second = 0;  // read from the disk, of all processes
  double read_bytes_per_second = 0;     // read by system calls, page cache included
  std::uint64_t opened_bytes = 0;       // size of the regular files seen open for reading

  // Mean number of threads in each state at a look.
  double running_threads = 0;   // running or waiting for a CPU
  double disk_threads = 0;      // in uninterruptible sleep
  double lock_threads = 0;      // in futex
  double network_threads = 0;   // in poll, epoll, select, recv, accept
  double sleeping_threads = 0;  // in nanosleep
  double pipe_threads = 0;      // in read or write of a pipe

  double data_share = -1;      // of a step, waiting for data, by the log; below 0: not told
  double gpu_busy_share = -1;  // of the GPUs that were used; below 0: unknown
  double first_rate = 0;       // of the first third of the windows; 0: too few
  double last_rate = 0;        // of the last third
};

}  // namespace ocrtune
