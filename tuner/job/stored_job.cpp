// One visit_fields() a struct serves both directions, so that no field is written and not read.
// Texts pass through utf8_of_bytes(): paths and arguments may be any bytes, and JSON takes UTF-8
// alone. Enums of the search that are no plain fields (objective, knobs) are written as their
// texts.
#include "tuner/job/stored_job.h"

#include <algorithm>
#include <concepts>
#include <iterator>
#include <optional>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/secrets.h"
#include "trial/ipc/json_fields.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

template <typename Struct, typename Base>
concept Of = std::same_as<std::remove_const_t<Struct>, Base>;

template <typename Struct, typename Base>
using LikeOf = std::conditional_t<std::is_const_v<Struct>, const Base, Base>;

// One list for each struct: what is stored under its name as it is. A key that lacks leaves the
// field alone.

template <Of<TrainingWorkload> Struct, typename Visit>
void visit_fields(Struct& of, const Visit& visit) {
  OCRTUNE_VISIT(of, model, label_file, height, width, heights, width_buckets, queue_depth, classes);
}

template <Of<EngineTrainingOptions> Struct, typename Visit>
void visit_fields(Struct& of, const Visit& visit) {
  OCRTUNE_VISIT(of, training, lines, widest_bucket, gpus, tensor_cores);
}

template <Of<InferenceWorkload> Struct, typename Visit>
void visit_fields(Struct& of, const Visit& visit) {
  OCRTUNE_VISIT(of, model, checkpoint, alphabet, height, width, place, gpus, url, inputs, metrics,
                request_timeout_seconds, start_timeout_seconds, max_in_flight, truth, max_change,
                slo, trace);
}

template <Of<CommandWorkload> Struct, typename Visit>
void visit_fields(Struct& of, const Visit& visit) {
  OCRTUNE_VISIT(of, command, setup, cleanup, directory, environment, inherited, log_reader, metric,
                per_rank, scope_assumed, log_file, answers, truth, max_change, preset);
}

template <Of<UserCommandOptions> Struct, typename Visit>
void visit_fields(Struct& of, const Visit& visit) {
  visit("program", of.command);
  OCRTUNE_VISIT(of, launch, launch_gpus, evaluation_steps, gpus, trains, label_file, lines);
}

template <Of<TrainingJob> Struct, typename Visit>
void visit_fields(Struct& of, const Visit& visit) {
  OCRTUNE_VISIT(of, engine, gpu_memory_bytes);
}

template <Of<ReadingJob> Struct, typename Visit>
void visit_fields(Struct& of, const Visit& visit) {
  OCRTUNE_VISIT(of, reading, classes, gpu_memory_bytes);
}

template <Of<CommandJob> Struct, typename Visit>
void visit_fields(Struct& of, const Visit& visit) {
  OCRTUNE_VISIT(of, user, hosts, launcher);
}

template <Of<ExternalJob> Struct, typename Visit>
void visit_fields(Struct& of, const Visit& visit) {
  visit("command", static_cast<LikeOf<Struct, CommandJob>&>(of));
  OCRTUNE_VISIT(of, in_paddle, training);
}

template <Of<ServiceJob> Struct, typename Visit>
void visit_fields(Struct& of, const Visit& visit) {
  OCRTUNE_VISIT(of, requests, user);
}

template <Of<SearchRequest> Struct, typename Visit>
void visit_fields(Struct& of, const Visit& visit) {
  OCRTUNE_VISIT(of, axes, fixed, absent, constraints);
  visit("percentile", of.objective.percentile);
  visit("least_samples_per_second", of.objective.min_samples_per_second);
  visit("most_step_seconds", of.objective.max_step_seconds);
  visit("most_peak_bytes", of.objective.max_peak_bytes);
  OCRTUNE_VISIT(of, baseline_source, budget_seconds, trial_seconds, soak_seconds, learning_seconds,
                memory_limit_bytes, memory_margin, seed, policy);
}

template <typename Field>
concept Visited = requires(Field& field) {
  visit_fields(field, [](const char*, auto&) {});
};

template <typename Struct>
Json json_of(const Struct& of) {
  Json json;
  visit_fields(of, [&json](const char* name, const auto& field) {
    using Field = std::remove_cvref_t<decltype(field)>;
    if constexpr (Visited<Field>) {
      json[name] = json_of(field);
    } else if constexpr (std::same_as<Field, std::optional<bool>>) {
      if (field) json[name] = *field;  // unset: no such key
    } else {
      json[name] = field;
    }
  });
  return json;
}

template <typename Struct>
void read_fields(const Json& json, Struct& of) {
  (void)json.get_ref<const Json::object_t&>();  // anything else is an error, not a lack of fields
  visit_fields(of, [&json](const char* name, auto& field) {
    using Field = std::remove_reference_t<decltype(field)>;
    if (!json.contains(name)) return;
    if constexpr (Visited<Field>) {
      read_fields(json.at(name), field);
    } else if constexpr (std::same_as<Field, std::optional<bool>>) {
      field = json.at(name).template get<bool>();
    } else {
      json.at(name).get_to(field);
    }
  });
}

// By its position in Job.
struct KindRow {
  const char* name;
  Job plain;
};

const KindRow kKinds[] = {{"training", {TrainingJob()}},
                          {"reading", {ReadingJob()}},
                          {"command", {CommandJob()}},
                          {"external", {ExternalJob()}},
                          {"service", {ServiceJob()}}};

// What is stored: a variable that looks secret by its name alone, a secret word with a mask.
Job without_secrets(Job job) {
  UserCommandOptions* user = job.user();
  if (user == nullptr) return job;
  CommandWorkload& program = user->command;
  // Its value is taken from the environment of the process that goes on with the run.
  std::erase_if(program.environment, [&](const auto& one) {
    if (!looks_secret(one.first)) return false;
    program.inherited.push_back(one.first);
    return true;
  });
  program.command = masked_arguments(program.command);
  user->launch = masked_arguments(user->launch);
  for (std::string& line : program.setup) line = masked_text(line);
  for (std::string& line : program.cleanup) line = masked_text(line);
  return job;
}

std::string dumped(Json json) {
  // And back by bytes_of_utf8() when it is read.
  change_texts(json, utf8_of_bytes);
  return json.dump();
}

}  // namespace

std::string job_json(const Job& given) {
  const Job job = without_secrets(given);
  Json json = std::visit([](const auto& kind) { return json_of(kind); }, job.kind);
  json["kind"] = kKinds[job.kind.index()].name;
  return dumped(std::move(json));
}

Result<Job> parse_job(const std::string& text) {
  try {
    Json json = Json::parse(text);
    change_texts(json, bytes_of_utf8);
    const auto name = json.at("kind").get<std::string>();
    const auto* const row = std::find_if(std::begin(kKinds), std::end(kKinds),
                                         [&](const KindRow& kind) { return kind.name == name; });
    if (row == std::end(kKinds)) {
      return Error{ErrorKind::invalid, "a stored job is of no known kind: " + name};
    }
    Job job = row->plain;
    std::visit([&](auto& one) { read_fields(json, one); }, job.kind);
    return job;
  } catch (const Json::exception& error) {
    return Error{ErrorKind::invalid, fmt::format("a stored job is damaged: {}", error.what())};
  }
}

std::string search_json(const SearchRequest& search) {
  Json json = json_of(search);
  json["objective"] = objective_text(search.objective);
  json["baseline"] = stored_knobs(search.baseline);
  for (const Knobs& hint : search.hints) json["hints"].push_back(stored_knobs(hint));
  return dumped(std::move(json));
}

Result<SearchRequest> parse_search(const std::string& text) {
  SearchRequest search;
  try {
    Json json = Json::parse(text);
    change_texts(json, bytes_of_utf8);
    search.objective = OCRTUNE_TRY(parse_objective(json.value("objective", "throughput")));
    read_fields(json, search);
    OCRTUNE_TRY(read_stored_knobs(json.at("baseline"), search.baseline));
    for (const Json& hint : json.value("hints", Json::array())) {
      OCRTUNE_TRY(read_stored_knobs(hint, search.hints.emplace_back()));
    }
  } catch (const Json::exception& error) {
    return Error{ErrorKind::invalid, fmt::format("a stored search is damaged: {}", error.what())};
  }
  return search;
}

nlohmann::ordered_json stored_knobs(const Knobs& knobs) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [name, text] : knob_texts(knobs)) json[name] = text;
  return json;
}

Status read_stored_knobs(const nlohmann::ordered_json& json, Knobs& knobs) {
  const auto damaged = [&json] {
    constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
    return Error{ErrorKind::invalid, "knobs are damaged: " + json.dump(-1, ' ', false, kReplace)};
  };
  if (!json.is_object()) return damaged();
  for (const auto& [name, value] : json.items()) {
    if (!value.is_string()) return damaged();
    OCRTUNE_TRY(set_knob(knobs, name, value.get<std::string>()));
  }
  // stored_knobs() leaves out what is at its default; these three are always written, unless they
  // do not reach the command.
  for (const char* name : {"nproc", "threads", "batch"}) {
    if (!json.contains(name)) knobs.absent.insert(name);
  }
  return Status();
}

}  // namespace ocrtune
