// One list of fields for each event serves both ways. Readers take what is there and give defaults
// for the rest, because user commands and older workers write on the same pipe. Only what would
// break a rate is refused: steps without time, results without a rate. Service and answer events
// are ours alone and must be whole.
#include "trial/ipc/events.h"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "trial/ipc/same_fields.h"
#include "trial/ipc/trial_fields.h"

namespace ocrtune {

OCRTUNE_FIELDS(HelloEvent, rank, world_size, pid, cpus, team_size, versions, planned_bytes, gpu,
               host)
OCRTUNE_FIELDS(ReadyEvent, rank, check_error)
OCRTUNE_FIELDS(DoneEvent, rank, steps, bad_samples)
OCRTUNE_FIELDS(ErrorEvent, rank, outcome, cause, reason)
OCRTUNE_FIELDS(NoteEvent, rank, text)
OCRTUNE_FIELDS(ResultEvent, rank, samples_per_second, seconds, samples, text)
OCRTUNE_FIELDS(MemoryEvent, rank, bytes, total_bytes, source)
OCRTUNE_FIELDS(AnswersEvent, rank, same)

constexpr auto listed_fields(const StepEvent*) {
  return [](auto& event, const auto& visit) {
    OCRTUNE_VISIT(event, rank, steps, samples, seconds, loss, part_square, whole_square);
    OCRTUNE_VISIT(event.times, data_seconds, compute_seconds, all_reduce_seconds, wait_seconds);
  };
}

constexpr auto listed_fields(const SlowHostEvent*) {
  return [](auto& event, const auto& visit) {
    OCRTUNE_VISIT(event, rank);
    OCRTUNE_VISIT(event.host, name, words, cost_share);
  };
}

constexpr auto listed_fields(const ServiceEvent*) {
  return [](auto& event, const auto& visit) {
    OCRTUNE_VISIT(event, rank, start_seconds);
    OCRTUNE_VISIT(event.facts, in_flight, p50_seconds, p99_seconds, alone_seconds, ended_early,
                  server, loads);
  };
}

namespace {

using Json = nlohmann::json;

// In the order of Event.
constexpr std::string_view kNames[] = {"hello",  "ready",  "step",      "done",    "error",  "note",
                                       "result", "memory", "slow_host", "service", "answers"};
static_assert(std::size(kNames) == std::variant_size_v<Event>);

template <std::size_t... I>
Event plain_event(std::size_t wanted, std::index_sequence<I...>) {
  Event event;
  ((wanted == I ? void(event.emplace<I>()) : void()), ...);
  return event;
}

template <typename Field>
Json json_of(const Field& field) {
  if constexpr (std::is_same_v<Field, std::string>) {
    return valid_utf8(field);
  } else if constexpr (std::is_same_v<Field, Outcome>) {
    return outcome_name(field);
  } else {
    return field;
  }
}

// A field of another type keeps its default. Numbers that JSON cannot hold (nan, inf) are written
// as null. Throws std::exception where loads or answers are none.
template <typename Field>
void take(const Json& object, const char* name, Field& field) {
  const Json value = object.value(name, Json());
  if constexpr (std::is_same_v<Field, bool>) {
    field = value == true;
  } else if constexpr (std::is_integral_v<Field>) {
    if (value.is_number_integer()) field = value.get<Field>();
  } else if constexpr (std::is_floating_point_v<Field>) {
    if (value.is_number()) field = value.get<Field>();
  } else if constexpr (std::is_same_v<Field, std::string>) {
    if (value.is_string()) field = value.get<std::string>();
  } else if constexpr (std::is_same_v<Field, Outcome>) {
    const auto outcome = parse_outcome(value.is_string() ? value.get<std::string>() : "");
    if (outcome) field = *outcome;
  } else if constexpr (std::is_same_v<Field, std::map<std::string, std::string>>) {
    if (!value.is_object()) return;
    for (const auto& [key, text] : value.items()) {
      if (text.is_string()) field[key] = text.template get<std::string>();
    }
  } else {
    value.get_to(field);
  }
}

Error broken(const std::string& line) {
  return Error{ErrorKind::invalid,
               fmt::format("not an event: '{}'", valid_utf8(line.substr(0, 60)))};
}

}  // namespace

std::string scarce_name(Scarce scarce) {
  return scarce == Scarce::gpu_memory ? "gpu" : scarce == Scarce::shared_memory ? "shm" : "process";
}

std::string event_line(const Event& event) {
  Json object = {{"event", kNames[event.index()]}};
  const auto write = [&](const auto& one) {
    listed_fields (&one)(
        one, [&](const char* name, const auto& field) { object[name] = json_of(field); });
  };
  std::visit(write, event);
  // Bytes that are no UTF-8 would make dump() throw.
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Event> parse_event(const std::string& line) {
  const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return broken(line);
  std::string name;
  take(object, "event", name);
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return broken(line);
  Event event = plain_event(static_cast<std::size_t>(found - kNames),
                            std::make_index_sequence<std::variant_size_v<Event>>());
  const auto read = [&](auto& one) {
    listed_fields (&one)(one, [&](const char* key, auto& field) { take(object, key, field); });
  };
  try {
    std::visit(read, event);
  } catch (const std::exception&) {
    return broken(line);
  }
  // Negated, so that a NaN is refused too.
  if (const auto* step = std::get_if<StepEvent>(&event)) {
    if (step->steps < 1 || step->samples < 0 || !(step->seconds > 0)) return broken(line);
  }
  if (const auto* result = std::get_if<ResultEvent>(&event)) {
    if (!(result->samples_per_second > 0) || !(result->seconds > 0)) return broken(line);
  }
  return event;
}

}  // namespace ocrtune
