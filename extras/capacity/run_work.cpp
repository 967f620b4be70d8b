// The decision runs from what is sure to what is likely: a service, the built-in engine, then a
// command by its reader, metric and preset. A command that none of these tells stays unknown, and
// the plan says so.
#include "extras/capacity/run_work.h"

#include "base/text.h"
#include "trial/logs/log_reader.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/command/command_preset.h"
#include "tuner/job/job_workload.h"

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

std::optional<RunWork> what_it_does(const RunRecord& run) {
  const Job& job = run.job;
  if (job.serves()) return RunWork::serves;
  const auto* external = std::get_if<ExternalJob>(&job.kind);
  const bool own = job.prints() && (external == nullptr || !external->in_paddle);
  if (!own) return job.infers() ? RunWork::recognises : RunWork::trains;
  const CommandWorkload& program = job.program();
  const std::string reader = program.log_reader.substr(0, program.log_reader.find(':'));
  // Whole runs of a program are timed where it goes through files and ends; the files that its
  // lines name are counted, its texts compared and copies of it started where it reads.
  const bool reads = job.infers() || reader == "runs" || counts_for_all(program.log_reader) ||
                     !program.answers.empty() || starts_copies(program) ||
                     counts_pages(program.metric) || !preset_trains(program.preset);
  if (reads) return RunWork::reads;
  const bool trains = external != nullptr || !program.preset.empty() || reader == "paddleocr" ||
                      reader == "burn" || reader == "ocrtune";
  return trains ? std::optional(RunWork::trains) : std::nullopt;
}

std::string_view counted_unit(const RunRecord& run) {
  switch (workload_of(run.job, run.search)->unit()) {
    case Unit::step_rate:
      return "steps";
    case Unit::run_rate:
      return "runs";
    default:
      break;
  }
  const auto work = what_it_does(run);
  return work == RunWork::recognises ? "line images"
         : work == RunWork::serves   ? "requests"
                                     : "images";
}

}  // namespace ocrtune
