#include "tuner/store/run_record.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <string>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/random.h"
#include "base/secrets.h"
#include "trial/ipc/json_fields.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

// What is stored: a variable that looks secret by its name alone, a secret word with a mask.
RunOptions without_secrets(RunOptions options) {
  std::erase_if(options.environment, [&](const auto& one) {
    if (!looks_secret(one.first)) return false;
    options.inherited.push_back(one.first);
    return true;
  });
  options.command = masked_arguments(options.command);
  options.launch = masked_arguments(options.launch);
  options.setup = masked_text(options.setup);
  options.cleanup = masked_text(options.cleanup);
  return options;
}

// What is stored under its name as it is; a key that lacks leaves the field alone.
template <typename Options, typename Visit>
void visit_options(Options& options, const Visit& visit) {
  visit("mode", options.mode);
  visit("engine", options.engine);
  visit("model", options.model);
  visit("label_file", options.label_file);
  visit("classes", options.classes);
  visit("lines", options.lines);
  visit("height", options.height);
  visit("width", options.width);
  visit("heights", options.heights);
  visit("width_buckets", options.width_buckets);
  visit("widest_bucket", options.widest_bucket);
  visit("queue_depth", options.queue_depth);
  visit("place", options.place);
  visit("checkpoint", options.checkpoint);
  visit("alphabet", options.alphabet);
  visit("promise", options.slo);
  visit("trace", options.trace);
  visit("url", options.url);
  visit("inputs", options.inputs);
  visit("server_metrics", options.server_metrics);
  visit("command", options.command);
  visit("launch", options.launch);
  visit("launch_gpus", options.launch_gpus);
  visit("hosts", options.hosts);
  visit("launcher", options.launcher);
  visit("preset", options.preset);
  visit("log_reader", options.log_reader);
  visit("metric", options.metric);
  visit("metric_of", options.metric_of);
  visit("directory", options.directory);
  visit("environment", options.environment);
  visit("inherited", options.inherited);
  visit("log_file", options.log_file);
  visit("setup", options.setup);
  visit("cleanup", options.cleanup);
  visit("answers", options.answers);
  visit("truth", options.truth);
  visit("max_change", options.max_change);
  visit("axes", options.axes);
  visit("given", options.given);
  visit("constraints", options.constraints);
  visit("baseline_source", options.baseline_source);
  visit("budget_seconds", options.budget_seconds);
  visit("trial_seconds", options.trial_seconds);
  visit("soak_seconds", options.soak_seconds);
  visit("memory_limit_bytes", options.memory_limit_bytes);
  visit("gpus", options.gpus);
  visit("gpu_memory_bytes", options.gpu_memory_bytes);
  visit("command_gpus", options.command_gpus);
  visit("evaluation_steps", options.evaluation_steps);
  visit("tensor_cores", options.tensor_cores);
  visit("memory_margin", options.memory_margin);
  visit("seed", options.seed);
  visit("policy", options.policy);
  visit("strategy", options.strategy);
  visit("percentile", options.objective.percentile);
  visit("least_samples_per_second", options.objective.min_samples_per_second);
  visit("most_step_seconds", options.objective.max_step_seconds);
  visit("most_peak_bytes", options.objective.max_peak_bytes);
}

}  // namespace

Status check_run_name(const std::string& name) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  };
  // A letter first: an id begins with a digit.
  const bool good = !name.empty() && name.size() <= 64 && name != "last" &&
                    std::isalpha(static_cast<unsigned char>(name[0])) != 0 &&
                    std::all_of(name.begin(), name.end(), fits);
  if (good) return Status();
  return Error{ErrorKind::usage,
               "--name '" + name +
                   "': needs a letter, then letters, digits, '.', '_' or '-', and not \"last\""};
}

std::string new_run_id() {
  const auto now = static_cast<std::time_t>(wall_seconds());
  Random random(static_cast<std::uint64_t>(wall_seconds() * 1e6) ^
                (static_cast<std::uint64_t>(::getpid()) << 40));
  return fmt::format("{:%Y-%m-%d}-{:05x}", fmt::gmtime(now), random.next() >> 44);
}

std::string run_options_json(const RunOptions& given) {
  const RunOptions options = without_secrets(given);
  Json json;
  visit_options(options, [&](const char* name, const auto& field) { json[name] = field; });
  json["objective"] = objective_text(options.objective);
  json["baseline"] = stored_knobs(options.baseline);
  for (const Knobs& hint : options.hints) json["hints"].push_back(stored_knobs(hint));
  change_texts(json, utf8_of_bytes);
  return json.dump();
}

Result<RunOptions> parse_run_options(const std::string& text) {
  RunOptions options;
  try {
    Json json = Json::parse(text);
    change_texts(json, bytes_of_utf8);
    options.objective = OCRTUNE_TRY(parse_objective(json.value("objective", "throughput")));
    visit_options(options, [&](const char* name, auto& field) {
      if (json.contains(name)) json.at(name).get_to(field);
    });
    OCRTUNE_TRY(read_stored_knobs(json.at("baseline"), options.baseline));
    for (const Json& hint : json.value("hints", Json::array())) {
      OCRTUNE_TRY(read_stored_knobs(hint, options.hints.emplace_back()));
    }
  } catch (const Json::exception& error) {
    return Error{ErrorKind::invalid, fmt::format("run options: {}", error.what())};
  }
  return options;
}

nlohmann::ordered_json stored_knobs(const Knobs& knobs) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [name, text] : knob_texts(knobs)) json[name] = text;
  return json;
}

Status read_stored_knobs(const nlohmann::ordered_json& json, Knobs& knobs) {
  const Error damaged{
      ErrorKind::invalid,
      "knobs are damaged: " +
          json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)};
  if (!json.is_object()) return damaged;
  for (const auto& [name, value] : json.items()) {
    if (!value.is_string()) return damaged;
    OCRTUNE_TRY(set_knob(knobs, name, value.get<std::string>()));
  }
  knobs.untold.batch = !json.contains("batch");
  return Status();
}

}  // namespace ocrtune
