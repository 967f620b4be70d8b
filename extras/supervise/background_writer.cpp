// A detached thread and a queue that it shares with the writer, so that either may go first. A
// piece that is being written cannot be called back: the program then ends without destructors.
#include "extras/supervise/background_writer.h"

#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace ocrtune {
namespace {

// exit() does this before it destroys any object that is there now.
void end_without_destructors() {
  (void)::on_exit([](int code, void* /*none*/) { ::_exit(code); }, nullptr);
}

}  // namespace

struct BackgroundWriter::Queue {
  struct Piece {
    std::size_t bytes;
    std::function<void()> write;  // null: it is being written
  };
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  std::deque<Piece> pieces;  // the first is being written
  std::size_t bytes = 0;
  std::size_t max_bytes = 0;
  bool ending = false;

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return ending || !pieces.empty(); });
      if (pieces.empty()) return;
      const auto write = std::exchange(pieces.front().write, nullptr);
      // The write may hang: nobody else may need the lock meanwhile.
      lock.unlock();
      write();
      lock.lock();
      bytes -= pieces.front().bytes;
      pieces.pop_front();
      changed.notify_all();
    }
  }
};

BackgroundWriter::BackgroundWriter(std::size_t max_bytes, double farewell_seconds)
    : queue_(std::make_shared<Queue>()), farewell_seconds_(farewell_seconds) {
  queue_->max_bytes = max_bytes;
  std::thread([queue = queue_] { queue->work(); }).detach();
}

BackgroundWriter::~BackgroundWriter() {
  finish(farewell_seconds_);
  const std::lock_guard lock(queue_->mutex);
  queue_->ending = true;
  std::erase_if(queue_->pieces, [](const auto& piece) { return piece.write != nullptr; });
  if (!queue_->pieces.empty()) end_without_destructors();
  queue_->changed.notify_all();
}

bool BackgroundWriter::put(std::size_t bytes, std::function<void()> write) {
  const std::lock_guard lock(queue_->mutex);
  if (queue_->bytes + bytes > queue_->max_bytes) return false;
  queue_->bytes += bytes;
  queue_->pieces.push_back({bytes, std::move(write)});
  queue_->changed.notify_all();
  return true;
}

bool BackgroundWriter::idle() const { return finish(0); }

bool BackgroundWriter::finish(double seconds) const {
  std::unique_lock lock(queue_->mutex);
  return queue_->changed.wait_for(lock, std::chrono::duration<double>(seconds),
                                  [this] { return queue_->pieces.empty(); });
}

}  // namespace ocrtune
