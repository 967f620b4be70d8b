// Writes events to the descriptor that a trial listens on.
#pragma once

#include "base/result.h"
#include "trial/ipc/events.h"

namespace ocrtune {

class EventWriter {
 public:
  explicit EventWriter(int descriptor) : descriptor_(descriptor) {}
  // The descriptor in OCRTUNE_EVENT_FD; standard output without it. usage: it is no number.
  static Result<EventWriter> from_environment();

  bool say(const Event& event);  // false: nobody listens any more
  bool closed() const { return closed_; }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
  bool closed_ = false;
};

}  // namespace ocrtune
