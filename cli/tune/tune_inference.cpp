#include "cli/tune/tune_inference.h"

#include <CLI/CLI.hpp>

#include "base/files.h"
#include "cli/model_choice.h"
#include "trial/workloads/engine_infer/line_list.h"
#include "trial/workloads/service/arrivals.h"
#include "trial/workloads/service/http_target.h"
#include "trial/workloads/service/promise.h"
#include "tuner/slo/load_trial.h"

namespace ocrtune {
namespace {

Error usage(std::string what) { return Error{ErrorKind::usage, std::move(what)}; }

Status check_together(const RunOptions& options) {
  if (!options.infers()) {
    const bool any = !options.promise.empty() || !options.url.empty() || !options.trace.empty() ||
                     !options.inputs.empty() || !options.checkpoint.empty();
    return any ? Status(usage("--slo, --url, --trace, --input and --checkpoint need --mode infer"))
               : Status();
  }
  if (!options.trace.empty() && options.promise.empty()) {
    return usage("--trace gives the arrivals of a promise: it needs --slo p99=50ms");
  }
  const bool foreign = !options.url.empty() || !options.command.empty();
  if (!options.inputs.empty() && !foreign) {
    return usage("--input is what your own server is sent; for the core give --data");
  }
  if (!foreign) return Status();
  if (!options.serves() && !options.promise.empty()) {
    return usage(
        "--slo sends requests to the command, so it cannot be judged by its log: leave "
        "--log-reader and --preset out");
  }
  if (options.given.count("binding") != 0 && options.serves()) {
    return usage("--binding: a server that answers requests binds its own processes");
  }
  return Status();
}

}  // namespace

void declare_inference_flags(CLI::App& app, RunOptions& options, InferenceFlags& flags) {
  const char* const group = "Inference";
  app.add_option("--mode", options.mode, "train, or infer: reading lines, or a service of your own")
      ->check(CLI::IsMember({"train", "infer"}))
      ->group(group);
  app.add_option("--slo", options.promise,
                 "Judge by the highest rate that keeps this promise: p99=50ms")
      ->group(group);
  app.add_option("--trace", options.trace,
                 "Recorded arrivals, a time in seconds a line, instead of Poisson")
      ->group(group);
  app.add_option("--checkpoint", options.checkpoint, "Of ocrtune train; else seeded weights")
      ->group(group);
  app.add_option("--alphabet", flags.alphabet, "As make-data's; the checkpoint's if absent")
      ->group(group);
  app.add_option(
         "--url", options.url,
         "Your server: its address, where the command after -- serves it or it runs already")
      ->group(group);
  app.add_option("--input", options.inputs, "File to send (repeat it; take the widest one too)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(group);
}

Status read_inference(RunOptions& options, const InferenceFlags& flags, const std::string& data,
                      bool model_given) {
  if (Status together = check_together(options); !together) return together;
  if (!options.infers()) return Status();
  if (!options.promise.empty()) {
    const auto promise = parse_promise(options.promise);
    if (!promise) return usage("--slo: " + promise.error().what);
  }
  if (!options.trace.empty()) {
    const auto trace = read_trace(options.trace);
    if (!trace) return trace.error();
  }
  for (const std::string& input : options.inputs) {
    const auto bytes = read_file(input);
    if (!bytes) return bytes.error();
  }
  if (!options.url.empty() && options.command.empty()) {
    HttpTargetOptions http;
    http.url = options.url;
    http.timeout_seconds = 10;
    for (const std::string& input : options.inputs) http.bodies.push_back({"", *read_file(input)});
    const auto answers = make_http_target(http);  // now, not after the probing
    if (!answers) return answers.error();
  }
  const auto choice =
      choose_model(options.checkpoint, model_given ? options.model : "", flags.alphabet);
  if (!choice) return choice.error();
  options.model = choice->model;
  options.alphabet = choice->alphabet;
  options.classes = choice->classes;
  if (data.empty()) return Status();
  const auto lines = read_line_list(data);
  if (!lines) return Error{lines.error().kind, "--data: " + lines.error().what};
  options.place = data;
  return Status();
}

double default_trial_seconds(const RunOptions& options) {
  const auto promise = parse_promise(options.promise);
  if (!options.promise.empty() && promise) return load_trial_seconds(promise->seconds);
  const bool service =
      options.infers() && options.serves() && (!options.command.empty() || !options.url.empty());
  return service ? 6 : RunOptions().trial_seconds;
}

}  // namespace ocrtune
