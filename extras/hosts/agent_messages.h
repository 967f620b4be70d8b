// What an agent says to its launcher, one JSON object a line: its hello, what happens meanwhile
// (events), and one reply for each request.
//
// Another host's words: a field of another type, or out of its range, counts as missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "extras/supervise/supervised_attempt.h"
#include "trial/ipc/json_fields.h"

namespace ocrtune {

struct AgentLine {
  enum class Kind { words, hello, event, reply };  // words: a launcher's or a shell's
  Kind kind = Kind::words;
  std::string event;    // of an event, its name
  std::string version;  // of a hello, like the next
  int protocol = 0;
  std::int64_t id = 0;  // of a reply, the request's
};

AgentLine parse_agent_line(const std::string& line);

// One field of a message; `otherwise` where there is none of this type.
template <typename Field>
Field message_field(const FieldsJson& message, const char* name, const Field& otherwise) {
  Field field = otherwise;
  try {
    read_field(name, message.at(name), field);
  } catch (const std::exception&) {
    return otherwise;
  }
  return field;
}

// Of a line or a reply; null where it is no JSON.
inline FieldsJson parse_message(const std::string& text) {
  FieldsJson message = FieldsJson::parse(text, nullptr, false);
  return message.is_discarded() ? FieldsJson() : message;
}

// A reply of an agent whose work could not be started, and what it says; nothing where it is none.
FieldsJson error_json(const Error& error);
std::optional<Error> parse_error(const FieldsJson& message);

// An attempt on that host: the event "status", and the reply at its end.
// usage: names what is wrong with the text.
std::string attempt_status_json(const AttemptStatus& status);
Result<AttemptStatus> parse_attempt_status(const std::string& text);
std::string attempt_end_json(const AttemptEnd& end);
Result<AttemptEnd> parse_attempt_end(const std::string& text);

}  // namespace ocrtune
