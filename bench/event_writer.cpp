#include "bench/event_writer.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

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
  const std::string line = event_line(event);
  std::string_view left = line;
  while (!left.empty() && !closed_) {
    const ssize_t written = ::write(descriptor_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      closed_ = true;
    } else {
      left.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  return !closed_;
}

}  // namespace ocrtune
