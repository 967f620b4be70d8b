// Both ends of the pipe on which a worker tells a trial of its events.
#pragma once

#include <functional>
#include <string>

#include "base/line_splitter.h"
#include "base/process.h"
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

// The parent's end of the pipe on which a worker writes its events.
class EventPipe {
 public:
  static Result<EventPipe> open();
  // Adds the child's end to what it is started with. `by_path`: as a name that any process below it
  // may open, because launchers close descriptors; the writing end then stays open here.
  static Result<EventPipe> open_for(ProcessOptions& child, bool by_path);
  EventPipe(EventPipe&& other) noexcept;
  EventPipe& operator=(EventPipe&&) = delete;
  ~EventPipe();

  int read_descriptor() const { return read_; }    // for poll(); -1 once it has ended
  int write_descriptor() const { return write_; }  // for the child
  void close_write();                              // once the child has it

  // Reads what is there without blocking. `broken` gets lines that are no events.
  void read(const std::function<void(const Event&)>& sink,
            const std::function<void(const std::string&)>& broken);

 private:
  EventPipe(int read, int write) : read_(read), write_(write) {}
  int read_ = -1;
  int write_ = -1;
  LineSplitter lines_;
};

}  // namespace ocrtune
