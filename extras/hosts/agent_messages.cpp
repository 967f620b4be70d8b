// One list of fields for each struct serves both directions; enums are numbers and are checked,
// since another version or a broken line may say anything.
#include "extras/hosts/agent_messages.h"

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr auto kStatusFields = [](auto& status, const auto& visit) {
  OCRTUNE_VISIT(status, seconds, silent_seconds, bytes, available_bytes, shm_bytes, shm_limit_bytes,
                processes, progress_lines, first_progress_seconds, last_progress);
  visit("furthest_epoch", status.furthest.epoch);
  visit("furthest_step", status.furthest.step);
  visit("furthest_global_step", status.furthest.global_step);
  OCRTUNE_VISIT(status, open_files, open_files_limit, gpu_bytes, gpu_limit_bytes, idle_gpus, stall,
                places);
};

constexpr auto kEndFields = [](auto& end, const auto& visit) {
  OCRTUNE_VISIT(end.exit, code, signal);
  OCRTUNE_VISIT(end, peak_bytes, possible_peak_bytes, kernel_log, removed_shm, links_down,
                left_over, survivors);
};

}  // namespace

AgentLine parse_agent_line(const std::string& line) {
  AgentLine said;
  const FieldsJson message = parse_message(line);
  if (!message.is_object()) return said;
  said.event = message_field<std::string>(message, "event", "");
  said.id = message_field<std::int64_t>(message, "id", 0);
  said.kind = said.event.empty() ? AgentLine::Kind::reply : AgentLine::Kind::event;
  if (said.event != "hello") return said;
  said.kind = AgentLine::Kind::hello;
  said.version = message_field<std::string>(message, "version", "?");
  said.protocol = message_field(message, "protocol", 0);
  return said;
}

FieldsJson error_json(const Error& error) {
  return {{"error", valid_utf8(error.what)}, {"kind", static_cast<int>(error.kind)}};
}

std::optional<Error> parse_error(const FieldsJson& message) {
  const auto what = message_field<std::string>(message, "error", "");
  if (what.empty()) return std::nullopt;
  constexpr int kLast = static_cast<int>(ErrorKind::failed);
  const int kind = message_field(message, "kind", kLast);
  return Error{static_cast<ErrorKind>(kind < 0 || kind > kLast ? kLast : kind), what};
}

std::string attempt_status_json(const AttemptStatus& status) {
  FieldsJson json = fields_json(kStatusFields, status);
  json["event"] = "status";
  return json_line(json);
}

Result<AttemptStatus> parse_attempt_status(const std::string& text) {
  return parse_fields<AttemptStatus>(kStatusFields, text, "a host's status");
}

std::string attempt_end_json(const AttemptEnd& end) {
  FieldsJson json = fields_json(kEndFields, end);
  json["stop"] = static_cast<int>(end.stop);
  json["last"] = fields_json(kStatusFields, end.last);
  json["evidence"] = evidence_json(end.evidence);
  return json_line(json);
}

Result<AttemptEnd> parse_attempt_end(const std::string& text) {
  return parse_fields<AttemptEnd>(
      kEndFields, text, "a host's attempt", [](const FieldsJson& json, AttemptEnd& end) -> Status {
        int stop = 0;
        read_field("stop", json.at("stop"), stop);
        if (stop < 0 || stop > static_cast<int>(AttemptStop::host_lost)) {
          return Error{ErrorKind::usage, "a host's attempt: stop is " + std::to_string(stop)};
        }
        end.stop = static_cast<AttemptStop>(stop);
        end.last = read_fields<AttemptStatus>(kStatusFields, json.at("last"));
        end.evidence = OCRTUNE_TRY(parse_evidence(json.at("evidence").get<std::string>()));
        return Status();
      });
}

}  // namespace ocrtune
