// Who reads which line: hands lines to workers in chunks, takes them back when a worker dies, and
// counts each answer once. Numbers only; the pipes are trial/workloads/engine_infer/infer_pool.h's.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace ocrtune {

enum class QueuePolicy {
  shared,        // any worker takes the next chunk
  static_shards  // each worker has its own run of lines from the start
};

class LineQueue {
 public:
  LineQueue(std::int64_t lines, int workers, QueuePolicy policy, int chunk);

  // The next chunk for a worker; empty: nothing is left for it. Chunks of the shared queue get
  // smaller towards its end, so that all workers end together. The lines that were in the first
  // chunk of a worker that died come in small groups, and after a second death alone, so that a
  // line that kills its worker is found.
  std::vector<std::int64_t> take(int worker);
  void set_chunk(int worker, int lines);  // from now on, for this worker
  int chunks_in_flight(int worker) const;

  // False: it was answered before, and this answer must be dropped.
  bool answer(int worker, std::int64_t line);

  // The worker died: its lines go back. Gives those that were first in line for the fourth time and
  // count as answered from now on: they cannot be read.
  std::vector<std::int64_t> lose(int worker);

  void give_up(int worker);  // what it had for itself goes to all others

  std::int64_t open() const { return open_; }  // lines not answered

 private:
  struct Worker {
    std::deque<std::int64_t> own;                     // of its shard, not taken yet
    std::deque<std::vector<std::int64_t>> in_flight;  // chunks, oldest first
    int chunk = 1;
  };

  std::deque<std::int64_t>& source(int worker);
  std::size_t chunk_now(int worker);
  std::size_t suspects_together(std::int64_t line) const;

  std::int64_t open_;
  std::vector<char> answered_;
  std::vector<int> suspicions_;
  std::deque<std::int64_t> shared_;
  std::vector<Worker> workers_;
  int first_chunk_;
};

}  // namespace ocrtune
