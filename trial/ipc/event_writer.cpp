#include "trial/ipc/event_writer.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

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

}  // namespace ocrtune
