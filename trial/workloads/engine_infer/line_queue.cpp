// A chunk belongs to a worker until all its lines are answered. Which line killed a worker is found
// by suspicion: the first chunk in flight at a death is suspected, comes back in smaller groups,
// and at last line by line.
#include "trial/workloads/engine_infer/line_queue.h"

#include <algorithm>

namespace ocrtune {
namespace {

constexpr int kMaxSuspicions = 4;     // the last two alone: somebody may kill workers as well
constexpr std::size_t kMinTail = 8;   // lines of the last chunks, where chunks are larger
constexpr int kGroupsOfSuspects = 4;  // of a chunk whose worker died

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace

LineQueue::LineQueue(std::int64_t lines, int workers, QueuePolicy policy, int chunk)
    : open_(lines),
      answered_(at(lines)),
      suspicions_(at(lines)),
      workers_(at(workers)),
      first_chunk_(chunk) {
  for (Worker& worker : workers_) worker.chunk = chunk;
  for (std::int64_t line = 0; line < lines; ++line) {
    if (policy == QueuePolicy::shared) {
      shared_.push_back(line);
    } else {
      // Runs of neighbouring lines of equal length.
      workers_[at(line * workers / lines)].own.push_back(line);
    }
  }
}

std::deque<std::int64_t>& LineQueue::source(int worker) {
  std::deque<std::int64_t>& own = workers_[at(worker)].own;
  return own.empty() ? shared_ : own;
}

void LineQueue::set_chunk(int worker, int lines) { workers_[at(worker)].chunk = lines; }

std::size_t LineQueue::chunk_now(int worker) {
  const auto chunk = static_cast<std::size_t>(workers_[at(worker)].chunk);
  if (&source(worker) != &shared_) return chunk;
  // Half of an even share: towards the end chunks shrink, so that no worker has a long last one.
  const std::size_t share = shared_.size() / (2 * workers_.size());
  return std::min(chunk, std::max(kMinTail, share));
}

std::size_t LineQueue::suspects_together(std::int64_t line) const {
  if (suspicions_[at(line)] > 1) return 1;
  return static_cast<std::size_t>(std::max(1, first_chunk_ / kGroupsOfSuspects));
}

std::vector<std::int64_t> LineQueue::take(int worker) {
  std::deque<std::int64_t>& from = source(worker);
  std::vector<std::int64_t> chunk;
  std::size_t most = chunk_now(worker);
  int suspicions = 0;  // of every line of this chunk
  while (!from.empty() && chunk.size() < most) {
    const std::int64_t line = from.front();
    // Suspects and others are never mixed in one chunk.
    if (!chunk.empty() && suspicions_[at(line)] != suspicions) break;
    from.pop_front();
    // Another worker has answered it since.
    if (answered_[at(line)]) continue;
    suspicions = suspicions_[at(line)];
    if (suspicions > 0) most = std::min(most, suspects_together(line));
    chunk.push_back(line);
  }
  if (!chunk.empty()) workers_[at(worker)].in_flight.push_back(chunk);
  return chunk;
}

int LineQueue::chunks_in_flight(int worker) const {
  return static_cast<int>(workers_[at(worker)].in_flight.size());
}

bool LineQueue::answer(int worker, std::int64_t line) {
  for (std::vector<std::int64_t>& chunk : workers_[at(worker)].in_flight) {
    std::erase(chunk, line);
  }
  std::erase_if(workers_[at(worker)].in_flight, [](const auto& chunk) { return chunk.empty(); });
  if (answered_[at(line)]) return false;
  answered_[at(line)] = 1;
  --open_;
  return true;
}

std::vector<std::int64_t> LineQueue::lose(int worker) {
  Worker& lost = workers_[at(worker)];
  std::vector<std::int64_t> unreadable;
  if (!lost.in_flight.empty()) {
    // Only the oldest chunk was being read; the others waited in the pipe.
    for (std::int64_t line : lost.in_flight.front()) {
      if (++suspicions_[at(line)] < kMaxSuspicions) continue;
      unreadable.push_back(line);
      answered_[at(line)] = 1;
      --open_;
    }
  }
  std::deque<std::int64_t>& back = source(worker);
  // To the front and in their old order, since deliver() waits for the first open line.
  for (auto chunk = lost.in_flight.rbegin(); chunk != lost.in_flight.rend(); ++chunk) {
    for (auto line = chunk->rbegin(); line != chunk->rend(); ++line) {
      if (!answered_[at(*line)]) back.push_front(*line);
    }
  }
  lost.in_flight.clear();
  return unreadable;
}

void LineQueue::give_up(int worker) {
  std::deque<std::int64_t>& own = workers_[at(worker)].own;
  shared_.insert(shared_.begin(), own.begin(), own.end());
  own.clear();
}

}  // namespace ocrtune
