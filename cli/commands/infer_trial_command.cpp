// ocrtune infer-trial: the process of an inference trial; the tuner starts it.
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/command_list.h"
#include "trial/ipc/event_writer.h"
#include "trial/workloads/engine_infer/infer_trial.h"
#include "trial/workloads/engine_infer/infer_trial_spec.h"
#include "tuner/slo/load_trial.h"

namespace ocrtune {
namespace {

Result<int> run_trial(const std::string& text) {
  const auto spec = parse_infer_trial_spec(text);
  if (!spec) return spec.error();
  auto events = EventWriter::from_environment();
  if (!events) return events.error();
  const bool load = spec->foreign() || !spec->promise.empty();
  const bool done = load ? run_load_trial(*spec, *events) : run_infer_trial(*spec, *events);
  return done ? kExitOk : kExitNegative;
}

}  // namespace

Command infer_trial_command() {
  return Command{"infer-trial", "One trial of tune --mode infer; started by it, not by hand",
                 "ocrtune tune --mode infer --data lines",
                 [](CLI::App& app) {
                   auto text = std::make_shared<std::string>();
                   app.add_option("--spec", *text, "JSON")->required();
                   return [text] { return run_trial(*text); };
                 },
                 true};
}

}  // namespace ocrtune
