// Everything that the flags name is opened and checked before the machine is probed. So a mistake
// in a request file or a dead server is told at once.
#include "cli/tune/tune_inference.h"

#include "base/files.h"
#include "cli/commands/engine_flags.h"
#include "cli/model_choice.h"
#include "trial/workloads/command/command_preset.h"
#include "trial/workloads/engine_infer/line_list.h"
#include "trial/workloads/engine_parts.h"
#include "trial/workloads/service/arrivals.h"
#include "trial/workloads/service/request_file.h"
#include "trial/workloads/service/served_target.h"
#include "trial/workloads/service/slo.h"
#include "tuner/slo/load_trial.h"

namespace ocrtune {
namespace {

Error usage(std::string what) { return Error{ErrorKind::usage, std::move(what)}; }

Status check_together(const JobFlags& typed, const SearchRequest& search,
                      const ServiceFlags& service) {
  const InferenceWorkload& requests = typed.requests;
  const CommandWorkload& program = typed.program;
  if (!typed.infers()) {
    return typed.speaks_of_reading()
               ? Status(usage("--mode train: --slo, --url, --trace, --input, --server-metrics, "
                              "--weights and ONNX files are for --mode infer"))
               : Status();
  }
  if (!requests.trace.empty() && requests.slo.empty()) {
    return usage("--trace gives the arrivals for a latency target: it needs --slo p99=50ms");
  }
  const bool external = !requests.url.empty() || !program.command.empty();
  const bool patience = !service.request_timeout.empty() || !service.start_timeout.empty() ||
                        service.max_in_flight > 0;
  if (patience && !external) {
    return usage(
        "--request-timeout, --start-timeout and --max-in-flight are of a server of yours: "
        "name its --url, or the command after --");
  }
  if (!requests.inputs.empty() && !external) {
    return usage("--input is what your own server is sent; for the core give --data");
  }
  if (!requests.metrics.empty() && requests.url.empty()) {
    return usage("--server-metrics is read beside --url: name the server's address");
  }
  if (!external) return Status();
  if (!requests.url.empty() && !(program.log_reader.empty() && program.metric.empty())) {
    return usage(
        "--url measures the answers to requests, not a log: leave --log-reader and --metric out");
  }
  if (!typed.serves() && !requests.slo.empty()) {
    return usage(
        "--slo sends requests to the command, so it cannot be judged by its log: leave "
        "--log-reader and --preset out, or name the server's --url");
  }
  if (search.lists("binding") && typed.serves()) {
    return usage("--binding: a server that answers requests binds its own processes");
  }
  return Status();
}

}  // namespace

void declare_inference_flags(Flags& cli, JobFlags& typed, InferenceFlags& flags) {
  const char* const title = "Inference";
  cli.option("--mode", typed.mode, "MODE",
             "Tune training, or inference with the built-in engine or a service of your own "
             "(default: what the other flags are for; train)")
      .one_of({"train", "infer"})
      .under(title);
  cli.option("--slo", typed.requests.slo, "TARGET",
             "Prefer the highest rate that meets this latency target: p99=50ms")
      .under(title);
  cli.option("--trace", typed.requests.trace, "FILE",
             "Send at recorded arrivals, a time in seconds a line, instead of Poisson's")
      .file()
      .under(title);
  cli.option("--weights", typed.requests.checkpoint, "FILE", "Use these weights of ocrtune train")
      .formerly("--checkpoint")
      .default_text("random weights")
      .file()
      .under(title);
  declare_alphabet(cli, flags.alphabet, "the checkpoint's").under(title);
  cli.option("--url", typed.requests.url, "URL",
             "Address of your server, which the command after -- starts or which runs already")
      .under(title);
  cli.option("--input", typed.requests.inputs, "FILE",
             "Send this file, or what a .request.toml makes of one; take the widest one too")
      .file()
      .under(title);
  cli.option("--server-metrics", typed.requests.metrics, "PATH|URL",
             "Read the server's Prometheus metrics there beside each trial; #NAME,NAME behind it "
             "says which")
      .under(title);
  declare_service_flags(cli, flags.service, title);
}

namespace {

// What the preset of a server says of its addresses, where nobody else does.
Status take_service_of_preset(JobFlags& typed) {
  if (!typed.infers() || typed.program.preset.empty() || !typed.program.log_reader.empty() ||
      !typed.program.metric.empty()) {
    return Status();
  }
  const PresetService service = OCRTUNE_TRY(preset_service(typed.program.preset));
  if (service.url.empty()) return Status();
  if (typed.requests.url.empty()) typed.requests.url = service.url;
  if (typed.requests.metrics.empty()) typed.requests.metrics = service.metrics;
  return Status();
}

}  // namespace

Status read_inference(JobFlags& typed, const SearchRequest& search, InferenceFlags& flags,
                      const std::string& data, bool model_given) {
  InferenceWorkload& requests = typed.requests;
  OCRTUNE_TRY(take_service_of_preset(typed));
  OCRTUNE_TRY(check_together(typed, search, flags.service));
  const ServicePatience patience = OCRTUNE_TRY(read_patience(flags.service));
  requests.request_timeout_seconds = patience.request_seconds;
  requests.start_timeout_seconds = patience.start_seconds;
  requests.max_in_flight = flags.service.max_in_flight;
  if (!typed.infers()) return Status();
  if (!requests.slo.empty()) {
    const auto slo = parse_slo(requests.slo);
    if (!slo) return usage("--slo: " + slo.error().what);
  }
  if (!requests.trace.empty()) OCRTUNE_TRY(read_trace(requests.trace));
  for (const std::string& input : requests.inputs) OCRTUNE_TRY(read_request(input));
  OCRTUNE_TRY(check_may_load(requests.url, flags.service));
  if (!requests.url.empty() && typed.program.command.empty()) {
    OCRTUNE_TRY(check_server_answers(requests.url, requests.inputs));  // before the probing
  }
  // With a placeholder each copy has an address of its own, which only a trial fills in.
  if (requests.url.find('{') == std::string::npos) {
    OCRTUNE_TRY(check_address_is_free(typed.program.command, requests.url));
  }
  const auto choice =
      choose_model(requests.checkpoint, model_given ? typed.training.model : "", flags.alphabet,
                   flags.height_given ? typed.training.height : 0, true);
  if (!choice) return choice.error();
  if (choice->height != 0) typed.training.height = choice->height;
  typed.training.model = choice->model;
  requests.alphabet = choice->alphabet;
  typed.training.classes = choice->classes;
  flags.refusal = choice->refusal;
  if (data.empty()) return Status();
  const auto lines = read_line_list(data);
  if (!lines) return Error{lines.error().kind, "--data: " + lines.error().what};
  requests.place = data;
  // Elsewhere such a recogniser takes a line of any width.
  if (choice->height == 0 || flags.width_given || engine_parts() == nullptr) return Status();
  const int widest = engine_parts()->widest_line(lines->paths, choice->height);
  if (widest > 0) typed.training.width = widest;
  return Status();
}

double default_trial_seconds(const JobFlags& typed) {
  const auto slo = parse_slo(typed.requests.slo);
  if (!typed.requests.slo.empty() && slo) return load_trial_seconds(slo->seconds);
  const bool service = typed.infers() && typed.serves() && !typed.built_in();
  // 6 s is a guess for a server of the user's own.
  return service ? 6 : SearchRequest().trial_seconds;
}

}  // namespace ocrtune
