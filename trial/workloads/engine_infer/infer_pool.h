// Many processes read many lines: each line is answered once, whatever dies.
//
// One worker for each mask, started anew when it dies; the lines that it had go back to the queue
// (trial/workloads/engine_infer/line_queue.h). Where every worker runs is read from inside and from
// /proc, and two workers on one CPU end the run at once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/result.h"
#include "trial/observe/placement.h"
#include "trial/workloads/engine_infer/infer_device.h"
#include "trial/workloads/engine_infer/infer_spec.h"
#include "trial/workloads/engine_infer/line_queue.h"

namespace ocrtune {

struct InferJob {
  std::string program;             // the ocrtune that has infer-worker
  std::vector<std::string> paths;  // of the lines
  std::int64_t lines = 0;          // more than there are paths: these are read again and again
  InferSpec spec;
  std::vector<CpuSet> masks;  // one worker each; an empty mask leaves it free
  bool exclusive = true;      // no two workers may share a CPU
  // One for each worker, by UUID, and `program` is the GPU worker; empty: the CPUs.
  std::vector<std::string> gpus;
  bool share_gpus = false;  // several workers may compute on one
  QueuePolicy policy = QueuePolicy::shared;
  int chunk = 32;     // lines handed out at a time; two chunks are under way
  int max_chunk = 0;  // a worker's chunks double up to so many while they are read in no time:
                      // large ones fill the batches of every width; 0: they stay as they are
  int max_deaths_without_work = 5;  // in a row, then that worker is not started again
  double silence_seconds = 120;  // a worker that has lines and says nothing for so long is killed
  double start_seconds = 0;      // the same until it is ready; 0: silence_seconds
  bool silence_ends = false;     // the first silence ends the run (InferOutcome::hung)
};

struct LineAnswer {
  enum class State { open, read, bad };
  State state = State::open;
  std::string text;  // or why it is bad
  double confidence = 0;
};

struct InferWorkerReport {
  Placement placement;
  GpuPlace gpu;            // of the most memory that it had there
  std::int64_t lines = 0;  // answered first by this one
  int restarts = 0;
  std::string last_end;  // "killed by SIGKILL"; empty if it never died
  bool given_up = false;
};

struct InferOutcome {
  std::vector<LineAnswer> answers;  // in the order of the paths
  std::vector<InferWorkerReport> workers;
  std::int64_t read = 0, bad = 0;
  double start_seconds = 0;            // until the first worker was ready
  double seconds = 0;                  // from then to the last answer
  std::vector<std::string> conflicts;  // of placement
  std::string wrong_result;            // how it differs from the reference; ends the run
  std::string hung;                    // which worker fell silent, where that ends the run
  bool interrupted = false;
  std::string stopped_by;  // why lines are still open, in words; empty: none is
};

struct InferWatcher {
  // Answers [first, first + count) are final, and all before them; called in order, once for each.
  std::function<void(const std::vector<LineAnswer>& answers, std::int64_t first,
                     std::int64_t count)>
      deliver;
  std::function<void(std::int64_t done)> progress;
  std::function<void(int worker, int pid)> started;  // a worker was started
  // A worker has said on which GPU it computes: before its first chunk, and after each.
  std::function<void(int worker, const GpuPlace& place)> placed;
  // A worker has read a chunk of so many lines in so many seconds; its chunks follow each other
  // without a gap as long as the queue has lines. `growing`: larger ones will follow.
  std::function<void(int worker, std::int64_t lines, double seconds, bool growing)> chunk;
};

// An error only where no worker can start at all: a bad checkpoint, no memory, no program.
Result<InferOutcome> run_inference(const InferJob& job, const InferWatcher& watcher);

}  // namespace ocrtune
