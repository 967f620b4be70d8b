// Readers take what is there and give defaults for the rest, because user commands and older
// workers write on the same pipe. Only what would break a rate is refused: steps without time,
// results without a rate. Service and answer events are ours alone and must be whole.
#include "trial/ipc/events.h"

#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "trial/ipc/same_fields.h"
#include "trial/ipc/trial_fields.h"

namespace ocrtune {
namespace {

using Json = nlohmann::json;

Json json_of(const HelloEvent& event) {
  return {{"event", "hello"},
          {"rank", event.rank},
          {"world_size", event.world_size},
          {"pid", event.pid},
          {"cpus", event.cpus},
          {"team_size", event.team_size},
          {"versions", event.versions},
          {"planned_bytes", event.planned_bytes},
          {"gpu", event.gpu},
          {"host", valid_utf8(event.host)}};
}

Json json_of(const ReadyEvent& event) {
  return {{"event", "ready"}, {"rank", event.rank}, {"check_error", event.check_error}};
}

Json json_of(const StepEvent& event) {
  return {{"event", "step"},
          {"rank", event.rank},
          {"steps", event.steps},
          {"samples", event.samples},
          {"seconds", event.seconds},
          {"data_seconds", event.times.data_seconds},
          {"compute_seconds", event.times.compute_seconds},
          {"all_reduce_seconds", event.times.all_reduce_seconds},
          {"wait_seconds", event.times.wait_seconds},
          {"loss", event.loss},
          {"part_square", event.part_square},
          {"whole_square", event.whole_square}};
}

Json json_of(const DoneEvent& event) {
  return {{"event", "done"},
          {"rank", event.rank},
          {"steps", event.steps},
          {"bad_samples", event.bad_samples}};
}

Json json_of(const ErrorEvent& event) {
  return {{"event", "error"},
          {"rank", event.rank},
          {"outcome", outcome_name(event.outcome)},
          {"cause", valid_utf8(event.cause)},
          {"reason", valid_utf8(event.reason)}};
}

Json json_of(const NoteEvent& event) {
  return {{"event", "note"}, {"rank", event.rank}, {"text", valid_utf8(event.text)}};
}

Json json_of(const ResultEvent& event) {
  return {{"event", "result"},
          {"rank", event.rank},
          {"samples_per_second", event.samples_per_second},
          {"seconds", event.seconds},
          {"samples", event.samples},
          {"text", valid_utf8(event.text)}};
}

Json json_of(const MemoryEvent& event) {
  return {{"event", "memory"},
          {"rank", event.rank},
          {"bytes", event.bytes},
          {"total_bytes", event.total_bytes},
          {"source", valid_utf8(event.source)}};
}

Json json_of(const SlowHostEvent& event) {
  return {{"event", "slow_host"},
          {"rank", event.rank},
          {"name", valid_utf8(event.host.name)},
          {"words", valid_utf8(event.host.words)},
          {"cost_share", event.host.cost_share}};
}

Json json_of(const ServiceEvent& event) {
  return {{"event", "service"},
          {"rank", event.rank},
          {"in_flight", event.facts.in_flight},
          {"p50_seconds", event.facts.p50_seconds},
          {"p99_seconds", event.facts.p99_seconds},
          {"alone_seconds", event.facts.alone_seconds},
          {"ended_early", event.facts.ended_early},
          {"server", valid_utf8(event.facts.server)},
          {"loads", event.facts.loads},
          {"start_seconds", event.start_seconds}};
}

Json json_of(const AnswersEvent& event) {
  return {{"event", "answers"}, {"rank", event.rank}, {"same", event.same}};
}

// Numbers that JSON cannot hold (nan, inf) are written as null and read back as 0.
double number(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

template <typename T>
T whole(const Json& object, const char* name, T fallback) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<T>() : fallback;
}

std::string word(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

HelloEvent hello_of(const Json& object) {
  HelloEvent event;
  event.rank = whole(object, "rank", 0);
  event.world_size = whole(object, "world_size", 1);
  event.pid = whole(object, "pid", 0);
  event.cpus = word(object, "cpus");
  event.team_size = whole(object, "team_size", 0);
  event.planned_bytes = whole<std::uint64_t>(object, "planned_bytes", 0);
  event.gpu = word(object, "gpu");
  event.host = word(object, "host");
  const auto versions = object.find("versions");
  if (versions == object.end() || !versions->is_object()) return event;
  for (const auto& [name, version] : versions->items()) {
    if (version.is_string()) event.versions[name] = version.get<std::string>();
  }
  return event;
}

StepEvent step_of(const Json& object) {
  StepEvent event;
  event.rank = whole(object, "rank", 0);
  event.steps = whole<std::int64_t>(object, "steps", 1);
  event.samples = whole<std::int64_t>(object, "samples", 0);
  event.seconds = number(object, "seconds");
  event.times.data_seconds = number(object, "data_seconds");
  event.times.compute_seconds = number(object, "compute_seconds");
  event.times.all_reduce_seconds = number(object, "all_reduce_seconds");
  event.times.wait_seconds = number(object, "wait_seconds");
  event.loss = number(object, "loss");
  event.part_square = number(object, "part_square");
  event.whole_square = number(object, "whole_square");
  return event;
}

ErrorEvent error_of(const Json& object) {
  ErrorEvent event;
  event.rank = whole(object, "rank", 0);
  const auto outcome = parse_outcome(word(object, "outcome"));
  if (outcome) event.outcome = *outcome;
  event.cause = word(object, "cause");
  event.reason = word(object, "reason");
  return event;
}

ResultEvent result_of(const Json& object) {
  ResultEvent event;
  event.rank = whole(object, "rank", 0);
  event.samples_per_second = number(object, "samples_per_second");
  event.seconds = number(object, "seconds");
  event.samples = whole<std::int64_t>(object, "samples", 0);
  event.text = word(object, "text");
  return event;
}

// Throws std::exception where a load is none.
ServiceEvent service_of(const Json& object) {
  ServiceEvent event;
  event.rank = whole(object, "rank", 0);
  event.facts.in_flight = whole(object, "in_flight", 0);
  event.facts.p50_seconds = number(object, "p50_seconds");
  event.facts.p99_seconds = number(object, "p99_seconds");
  event.facts.alone_seconds = number(object, "alone_seconds");
  event.facts.ended_early = object.contains("ended_early") && object["ended_early"] == true;
  event.facts.server = word(object, "server");
  event.facts.loads = object.at("loads").get<std::vector<LoadPoint>>();
  event.start_seconds = number(object, "start_seconds");
  return event;
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
  const Json object = std::visit([](const auto& one) { return json_of(one); }, event);
  // Bytes that are no UTF-8 would make dump() throw.
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Event> parse_event(const std::string& line) {
  const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return broken(line);
  const std::string name = word(object, "event");
  if (name == "hello") return Event(hello_of(object));
  if (name == "ready") {
    return Event(ReadyEvent{whole(object, "rank", 0), number(object, "check_error")});
  }
  if (name == "step") {
    const StepEvent event = step_of(object);
    // Negated, so that a NaN is refused too.
    if (event.steps < 1 || event.samples < 0 || !(event.seconds > 0)) return broken(line);
    return Event(event);
  }
  if (name == "done") {
    return Event(DoneEvent{whole(object, "rank", 0), whole<std::int64_t>(object, "steps", 0),
                           whole<std::int64_t>(object, "bad_samples", 0)});
  }
  if (name == "error") return Event(error_of(object));
  if (name == "note") return Event(NoteEvent{whole(object, "rank", 0), word(object, "text")});
  if (name == "memory") {
    return Event(MemoryEvent{whole(object, "rank", 0), whole<std::uint64_t>(object, "bytes", 0),
                             whole<std::uint64_t>(object, "total_bytes", 0),
                             word(object, "source")});
  }
  if (name == "slow_host") {
    return Event(
        SlowHostEvent{whole(object, "rank", 0),
                      {word(object, "name"), word(object, "words"), number(object, "cost_share")}});
  }
  if (name == "service" || name == "answers") {
    try {
      if (name == "service") return Event(service_of(object));
      return Event(AnswersEvent{whole(object, "rank", 0), object.at("same").get<SameResult>()});
    } catch (const std::exception&) {
      return broken(line);
    }
  }
  if (name == "result") {
    const ResultEvent event = result_of(object);
    if (!(event.samples_per_second > 0) || !(event.seconds > 0)) return broken(line);
    return Event(event);
  }
  return broken(line);
}

}  // namespace ocrtune
