#include "capacity/run_work.h"

#include "base/text.h"
#include "trial/workloads/command/command_preset.h"

namespace ocrtune {
namespace {

// "pages/s", "took:s/page": a training counts images.
bool counts_pages(const std::string& metric) {
  const std::string unit = lower(metric.substr(metric.rfind(':') + 1));
  for (const std::string& noun : split(unit, '/')) {
    for (const char* page :
         {"page", "pages", "doc", "docs", "document", "documents", "pdf", "pdfs"}) {
      if (noun == page) return true;
    }
  }
  return false;
}

}  // namespace

RunWork what_it_does(const RunRecord& run) {
  const Job& job = run.job;
  if (job.serves()) return RunWork::serves;
  const auto* external = std::get_if<ExternalJob>(&job.kind);
  const bool own = job.prints() && (external == nullptr || !external->in_paddle);
  if (!own) return job.infers() ? RunWork::recognises : RunWork::trains;
  // Whole runs of a program are timed where it goes through files and ends.
  const CommandWorkload& program = job.program();
  const bool whole_runs = program.log_reader == "runs" || starts_with(program.log_reader, "runs:");
  const bool reads =
      job.infers() || whole_runs || counts_pages(program.metric) || !preset_trains(program.preset);
  return reads ? RunWork::reads : RunWork::trains;
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
