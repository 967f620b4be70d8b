#include "tuner/store/run_record.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/random.h"
#include "base/secrets.h"
#include "trial/ipc/json_fields.h"
#include "tuner/store/stored_knobs.h"

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
  const Json baseline = stored_knobs(options.baseline);
  Json hints = Json::array();
  for (const Knobs& hint : options.hints) hints.push_back(stored_knobs(hint));
  Json json = {
      {"mode", options.mode},
      {"model", options.model},
      {"label_file", options.label_file},
      {"classes", options.classes},
      {"lines", options.lines},
      {"height", options.height},
      {"width", options.width},
      {"heights", options.heights},
      {"width_buckets", options.width_buckets},
      {"widest_bucket", options.widest_bucket},
      {"queue_depth", options.queue_depth},
      {"place", options.place},
      {"checkpoint", options.checkpoint},
      {"alphabet", options.alphabet},
      {"promise", options.slo},
      {"trace", options.trace},
      {"url", options.url},
      {"inputs", options.inputs},
      {"command", options.command},
      {"launch", options.launch},
      {"launch_gpus", options.launch_gpus},
      {"preset", options.preset},
      {"log_reader", options.log_reader},
      {"metric", options.metric},
      {"metric_of", options.metric_of},
      {"directory", options.directory},
      {"environment", options.environment},
      {"inherited", options.inherited},
      {"log_file", options.log_file},
      {"setup", options.setup},
      {"cleanup", options.cleanup},
      {"axes", options.axes},
      {"given", options.given},
      {"constraints", options.constraints},
      {"hints", hints},
      {"objective", objective_text(options.objective)},
      {"percentile", options.objective.percentile},
      {"least_samples_per_second", options.objective.min_samples_per_second},
      {"most_step_seconds", options.objective.max_step_seconds},
      {"most_peak_bytes", options.objective.max_peak_bytes},
      {"baseline", baseline},
      {"baseline_source", options.baseline_source},
      {"budget_seconds", options.budget_seconds},
      {"trial_seconds", options.trial_seconds},
      {"memory_limit_bytes", options.memory_limit_bytes},
      {"gpus", options.gpus},
      {"gpu_memory_bytes", options.gpu_memory_bytes},
      {"command_gpus", options.command_gpus},
      {"tensor_cores", options.tensor_cores},
      {"memory_margin", options.memory_margin},
      {"seed", options.seed},
      {"policy", options.policy},
      {"strategy", options.strategy},
  };
  change_texts(json, utf8_of_bytes);
  return json.dump();
}

Result<RunOptions> parse_run_options(const std::string& text) {
  RunOptions options;
  try {
    Json json = Json::parse(text);
    change_texts(json, bytes_of_utf8);
    options.mode = json.value("mode", options.mode);
    options.model = json.value("model", options.model);
    options.label_file = json.value("label_file", options.label_file);
    options.classes = json.value("classes", options.classes);
    options.lines = json.value("lines", options.lines);
    options.height = json.value("height", options.height);
    options.width = json.value("width", options.width);
    options.heights = json.value("heights", options.heights);
    options.width_buckets = json.value("width_buckets", options.width_buckets);
    options.widest_bucket = json.value("widest_bucket", options.widest_bucket);
    options.queue_depth = json.value("queue_depth", options.queue_depth);
    options.place = json.value("place", options.place);
    options.checkpoint = json.value("checkpoint", options.checkpoint);
    options.alphabet = json.value("alphabet", options.alphabet);
    options.slo = json.value("promise", options.slo);
    options.trace = json.value("trace", options.trace);
    options.url = json.value("url", options.url);
    options.inputs = json.value("inputs", options.inputs);
    options.command = json.value("command", options.command);
    options.launch = json.value("launch", options.launch);
    options.launch_gpus = json.value("launch_gpus", options.launch_gpus);
    options.preset = json.value("preset", options.preset);
    options.log_reader = json.value("log_reader", options.log_reader);
    options.metric = json.value("metric", options.metric);
    options.metric_of = json.value("metric_of", options.metric_of);
    options.directory = json.value("directory", options.directory);
    options.environment = json.value("environment", options.environment);
    options.inherited = json.value("inherited", options.inherited);
    options.log_file = json.value("log_file", options.log_file);
    options.setup = json.value("setup", options.setup);
    options.cleanup = json.value("cleanup", options.cleanup);
    options.given = json.value("given", options.given);
    options.constraints = json.value("constraints", options.constraints);
    options.axes = json.value("axes", options.axes);
    options.objective = OCRTUNE_TRY(parse_objective(json.value("objective", "throughput")));
    Objective& asked = options.objective;
    asked.percentile = json.value("percentile", asked.percentile);
    asked.min_samples_per_second =
        json.value("least_samples_per_second", asked.min_samples_per_second);
    asked.max_step_seconds = json.value("most_step_seconds", asked.max_step_seconds);
    asked.max_peak_bytes = json.value("most_peak_bytes", asked.max_peak_bytes);
    options.baseline_source = json.value("baseline_source", options.baseline_source);
    options.budget_seconds = json.value("budget_seconds", options.budget_seconds);
    options.trial_seconds = json.value("trial_seconds", options.trial_seconds);
    options.memory_limit_bytes = json.value("memory_limit_bytes", options.memory_limit_bytes);
    options.memory_margin = json.value("memory_margin", options.memory_margin);
    options.gpus = json.value("gpus", options.gpus);
    options.gpu_memory_bytes = json.value("gpu_memory_bytes", options.gpu_memory_bytes);
    options.command_gpus = json.value("command_gpus", options.command_gpus);
    options.tensor_cores = json.value("tensor_cores", options.tensor_cores);
    options.seed = json.value("seed", options.seed);
    options.policy = json.value("policy", options.policy);
    options.strategy = json.value("strategy", options.strategy);
    OCRTUNE_TRY(read_stored_knobs(json.at("baseline"), options.baseline));
    for (const Json& hint : json.value("hints", Json::array())) {
      OCRTUNE_TRY(read_stored_knobs(hint, options.hints.emplace_back()));
    }
  } catch (const Json::exception& error) {
    return Error{ErrorKind::invalid, fmt::format("run options: {}", error.what())};
  }
  return options;
}

}  // namespace ocrtune
