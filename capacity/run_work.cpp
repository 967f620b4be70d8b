#include "capacity/run_work.h"

#include "base/text.h"
#include "trial/workloads/command/command_preset.h"

namespace ocrtune {

RunWork what_it_does(const RunRecord& run) {
  const RunOptions& asked = run.options;
  const bool own = asked.engine != kPaddleEngine && (!asked.command.empty() || !asked.url.empty());
  if (!own) return asked.infers() ? RunWork::recognises : RunWork::trains;
  if (asked.serves()) return RunWork::serves;
  // Whole runs of a program are timed where it goes through files and ends.
  const bool whole_runs = asked.log_reader == "runs" || starts_with(asked.log_reader, "runs:");
  return asked.infers() || whole_runs || !preset_trains(asked.preset) ? RunWork::reads
                                                                      : RunWork::trains;
}

std::string_view counted_unit(RunWork work) {
  switch (work) {
    case RunWork::recognises:
      return "line images";
    case RunWork::serves:
      return "requests";
    case RunWork::trains:
    case RunWork::reads:
      break;
  }
  return "images";
}

}  // namespace ocrtune
