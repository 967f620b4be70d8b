// ocrtune infer-trial: the process of an inference trial; the tuner starts it.
#include <memory>
#include <string>

#include "cli/commands.h"
#include "trial/ipc/event_writer.h"
#include "trial/workloads/engine_infer/infer_trial.h"
#include "trial/workloads/engine_infer/infer_trial_spec.h"
#include "trial/workloads/engine_parts.h"
#include "tuner/slo/load_trial.h"

namespace ocrtune {
namespace {

Result<int> run_infer_trial_process(const std::string& text) {
  const auto spec = OCRTUNE_TRY(parse_infer_trial_spec(text));
  if (!spec.user_service() && engine_parts() == nullptr) return engine_elsewhere();
  auto events = OCRTUNE_TRY(EventWriter::from_environment());
  const bool load = spec.user_service() || !spec.slo.empty();
  const bool done = load ? run_load_trial(spec, events) : run_infer_trial(spec, events);
  return done ? kExitOk : kExitNegative;
}

}  // namespace

CommandRun declare_infer_trial(Flags& cli) {
  auto text = std::make_shared<std::string>();
  cli.option("--spec", *text, "JSON", "Orders of this process")
      .require("--spec is given by ocrtune tune");
  return [text] { return run_infer_trial_process(*text); };
}

}  // namespace ocrtune
