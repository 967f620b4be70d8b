// Writes in a thread of its own, so that a file system that hangs does not stop the watch.
//
// The queue is bounded: what does not fit is refused, and its writer says that its file is cut.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace ocrtune {

class BackgroundWriter {
 public:
  explicit BackgroundWriter(std::size_t max_bytes = 64 << 20, double farewell_seconds = 2);
  // Waits so long for what is queued, and gives up what has not begun by then. A write that hangs
  // is left behind with its thread: exit() then ends the program without its destructors, which
  // would take from that write what it uses.
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  // `write` owns all that it uses, for it may outlive this object. `bytes`: what it holds in
  // memory. False: the queue is full, and it was not taken.
  bool put(std::size_t bytes, std::function<void()> write);
  bool idle() const;                  // nothing is queued or being written
  bool finish(double seconds) const;  // waits so long for it; idle()

 private:
  struct Queue;
  std::shared_ptr<Queue> queue_;
  double farewell_seconds_;
};

}  // namespace ocrtune
