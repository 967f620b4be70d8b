#include "cli/tune/tune_inference.h"

#include "base/files.h"
#include "cli/commands/engine_flags.h"
#include "cli/model_choice.h"
#include "trial/workloads/command/command_preset.h"
#include "trial/workloads/engine_infer/line_list.h"
#include "trial/workloads/service/arrivals.h"
#include "trial/workloads/service/http_target.h"
#include "trial/workloads/service/served_target.h"
#include "trial/workloads/service/slo.h"
#include "tuner/slo/load_trial.h"

namespace ocrtune {
namespace {

Error usage(std::string what) { return Error{ErrorKind::usage, std::move(what)}; }

Status check_together(const RunOptions& options) {
  if (!options.infers()) {
    const bool any = !options.slo.empty() || !options.url.empty() || !options.trace.empty() ||
                     !options.inputs.empty() || !options.checkpoint.empty() ||
                     !options.server_metrics.empty();
    return any ? Status(usage("--slo, --url, --trace, --input, --server-metrics and --weights "
                              "need --mode infer"))
               : Status();
  }
  if (!options.trace.empty() && options.slo.empty()) {
    return usage("--trace gives the arrivals for a latency target: it needs --slo p99=50ms");
  }
  const bool external = !options.url.empty() || !options.command.empty();
  if (!options.inputs.empty() && !external) {
    return usage("--input is what your own server is sent; for the core give --data");
  }
  if (!options.server_metrics.empty() && options.url.empty()) {
    return usage("--server-metrics is read beside --url: name the server's address");
  }
  if (!external) return Status();
  if (!options.url.empty() && !(options.log_reader.empty() && options.metric.empty())) {
    return usage(
        "--url measures the answers to requests, not a log: leave --log-reader and --metric out");
  }
  if (!options.serves() && !options.slo.empty()) {
    return usage(
        "--slo sends requests to the command, so it cannot be judged by its log: leave "
        "--log-reader and --preset out, or name the server's --url");
  }
  if (options.given.count("binding") != 0 && options.serves()) {
    return usage("--binding: a server that answers requests binds its own processes");
  }
  return Status();
}

}  // namespace

void declare_inference_flags(Flags& cli, RunOptions& options, InferenceFlags& flags) {
  const char* const title = "Inference";
  cli.option("--mode", options.mode, "MODE",
             "Tune training, or inference with the built-in engine or a service of your own")
      .one_of({"train", "infer"})
      .under(title);
  cli.option("--slo", options.slo, "TARGET",
             "Prefer the highest rate that meets this latency target: p99=50ms")
      .under(title);
  cli.option("--trace", options.trace, "FILE",
             "Send at recorded arrivals, a time in seconds a line, instead of Poisson's")
      .file()
      .under(title);
  cli.option("--weights", options.checkpoint, "FILE", "Use these weights of ocrtune train")
      .formerly("--checkpoint")
      .default_text("random weights")
      .file()
      .under(title);
  declare_alphabet(cli, flags.alphabet, "the checkpoint's").under(title);
  cli.option("--url", options.url, "URL",
             "Address of your server, which the command after -- starts or which runs already")
      .under(title);
  cli.option("--input", options.inputs, "FILE",
             "Send this file, or what a .request.toml makes of one; take the widest one too")
      .file()
      .under(title);
  cli.option("--server-metrics", options.server_metrics, "PATH|URL",
             "Read the server's Prometheus metrics there beside each trial; #NAME,NAME behind it "
             "says which")
      .under(title);
  declare_may_load(cli, flags.service, title);
}

namespace {

// What the preset of a server says of its addresses, where nobody else does.
Status take_service_of_preset(RunOptions& options) {
  if (!options.infers() || options.preset.empty() || !options.log_reader.empty() ||
      !options.metric.empty()) {
    return Status();
  }
  const PresetService service = OCRTUNE_TRY(preset_service(options.preset));
  if (service.url.empty()) return Status();
  if (options.url.empty()) options.url = service.url;
  if (options.server_metrics.empty()) options.server_metrics = service.metrics;
  return Status();
}

}  // namespace

Status read_inference(RunOptions& options, InferenceFlags& flags, const std::string& data,
                      bool model_given) {
  OCRTUNE_TRY(take_service_of_preset(options));
  OCRTUNE_TRY(check_together(options));
  if (!options.infers()) return Status();
  if (!options.slo.empty()) {
    const auto slo = parse_slo(options.slo);
    if (!slo) return usage("--slo: " + slo.error().what);
  }
  if (!options.trace.empty()) {
    OCRTUNE_TRY(read_trace(options.trace));
  }
  for (const std::string& input : options.inputs) {
    OCRTUNE_TRY(read_request(input));
  }
  OCRTUNE_TRY(check_may_load(options.url, flags.service));
  if (!options.url.empty() && options.command.empty()) {
    HttpTargetOptions http;
    http.url = options.url;
    http.start_seconds = kStartSeconds;
    for (const std::string& input : options.inputs) {
      http.bodies.push_back(OCRTUNE_TRY(read_request(input)));
    }
    const auto answers = make_http_target(http);  // now, not after the probing
    if (!answers) return answers.error();
  }
  if (options.url.find('{') == std::string::npos) {
    OCRTUNE_TRY(check_address_is_free(options.command, options.url));
  }
  const auto choice = choose_model(options.checkpoint, model_given ? options.model : "",
                                   flags.alphabet, flags.height_given ? options.height : 0, true);
  if (!choice) return choice.error();
  if (choice->height != 0) options.height = choice->height;
  options.model = choice->model;
  options.alphabet = choice->alphabet;
  options.classes = choice->classes;
  flags.refusal = choice->refusal;
  if (data.empty()) return Status();
  const auto lines = read_line_list(data);
  if (!lines) return Error{lines.error().kind, "--data: " + lines.error().what};
  options.place = data;
  return Status();
}

double default_trial_seconds(const RunOptions& options) {
  const auto slo = parse_slo(options.slo);
  if (!options.slo.empty() && slo) return load_trial_seconds(slo->seconds);
  const bool service =
      options.infers() && options.serves() && (!options.command.empty() || !options.url.empty());
  return service ? 6 : RunOptions().trial_seconds;
}

}  // namespace ocrtune
