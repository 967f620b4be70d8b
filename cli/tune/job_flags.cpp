// Which of the five kinds of job the flags mean. The order of the tests is the precedence: a
// command that prints, then a server, then the built-in engine.
#include "cli/tune/job_flags.h"

#include <utility>

namespace ocrtune {
namespace {

InferenceWorkload requests_of(const JobFlags& typed) {
  InferenceWorkload requests = typed.requests;
  requests.model = typed.training.model;
  requests.height = typed.training.height;
  requests.width = typed.training.width;
  requests.truth = typed.program.truth;
  requests.max_change = typed.program.max_change;
  return requests;
}

CommandJob command_of(const JobFlags& typed) {
  CommandJob job;
  job.user.command = typed.program;
  job.user.trains = !typed.infers();
  job.user.label_file = typed.training.label_file;
  job.user.lines = typed.lines;
  job.hosts = typed.hosts;
  job.launcher = typed.launcher;
  return job;
}

}  // namespace

Job job_of(const JobFlags& typed) {
  if (typed.prints() && typed.external) {
    return {ExternalJob{command_of(typed), typed.engine == kPaddleEngine, typed.training}};
  }
  if (typed.prints()) return {command_of(typed)};
  if (!typed.built_in()) return {ServiceJob{requests_of(typed), command_of(typed).user}};
  if (typed.infers()) return {ReadingJob{requests_of(typed), typed.training.classes}};
  TrainingJob trains;
  trains.engine.training = typed.training;
  trains.engine.lines = typed.lines;
  trains.engine.widest_bucket = typed.widest_bucket;
  return {std::move(trains)};
}

}  // namespace ocrtune
