// The worker's end blocks and the parent's end does not: a full pipe (64 KiB, pipe(7)) may hold a
// worker up, but never the loop that watches it.
#include "trial/ipc/event_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {

Result<EventWriter> EventWriter::from_environment() {
  const char* given = std::getenv(kEventDescriptorVariable);
  if (given == nullptr) return EventWriter(STDOUT_FILENO);
  const auto number = parse_integer(given);
  if (!number || *number < 0) {
    return Error{ErrorKind::usage, std::string(kEventDescriptorVariable) + ": " + given};
  }
  return EventWriter(static_cast<int>(*number));
}

bool EventWriter::say(const Event& event) {
  if (!closed_) closed_ = !write_all(descriptor_, event_line(event), "an event");
  return !closed_;
}

Result<EventPipe> EventPipe::open() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error(errno, "open an event pipe");
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return EventPipe(ends[0], ends[1]);
}

Result<EventPipe> EventPipe::open_for(ProcessOptions& child, bool by_path) {
  EventPipe pipe = OCRTUNE_TRY(open());
  const int end = pipe.write_descriptor();
  if (by_path) {
    // A path works after launchers closed the descriptor: /proc/PID/fd opens the same pipe anew.
    child.environment.emplace_back(kEventPathVariable,
                                   fmt::format("/proc/{}/fd/{}", ::getpid(), end));
  } else {
    child.environment.emplace_back(kEventDescriptorVariable, fmt::format("{}", end));
    child.descriptors.push_back(end);
  }
  return pipe;
}

EventPipe::EventPipe(EventPipe&& other) noexcept
    : read_(std::exchange(other.read_, -1)),
      write_(std::exchange(other.write_, -1)),
      lines_(std::move(other.lines_)) {}

EventPipe::~EventPipe() {
  close_write();
  if (read_ >= 0) ::close(read_);
}

void EventPipe::close_write() {
  if (write_ >= 0) ::close(write_);
  write_ = -1;
}

void EventPipe::read(const std::function<void(const Event&)>& sink,
                     const std::function<void(const std::string&)>& broken) {
  std::array<char, 65536> block;  // NOLINT: not filled on purpose
  // At most 1 MiB at once, so that a talkative worker does not keep the loop from its other
  // watches.
  for (int blocks = 0; read_ >= 0 && blocks < 16; ++blocks) {
    const ssize_t got = ::read(read_, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      // A process that is killed in the middle of a line leaves half of it.
      if (!lines_.open_line().empty()) broken("cut off: " + lines_.open_line());
      ::close(read_);
      read_ = -1;
      return;
    }
    lines_.add(std::string_view(block.data(), static_cast<std::size_t>(got)),
               [&](const std::string& line) {
                 const auto event = parse_event(line);
                 event ? sink(*event) : broken(event.error().what);
               });
  }
}

}  // namespace ocrtune
