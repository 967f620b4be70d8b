// A job of each kind, with what a test says of it and nothing else.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tuner/job/job.h"

namespace ocrtune {

inline Job training_job(std::string label_file = "", std::int64_t lines = 0) {
  TrainingJob job;
  job.engine.training.label_file = std::move(label_file);
  job.engine.lines = lines;
  return {std::move(job)};
}

inline Job reading_job(std::string slo = "", std::string place = "") {
  ReadingJob job;
  job.reading.slo = std::move(slo);
  job.reading.place = std::move(place);
  return {std::move(job)};
}

inline Job command_job(std::vector<std::string> command, std::string preset = "",
                       std::string log_reader = "") {
  CommandJob job;
  job.user.command.command = std::move(command);
  job.user.command.preset = std::move(preset);
  job.user.command.log_reader = std::move(log_reader);
  return {std::move(job)};
}

// The built-in engine over MPI.
inline Job hosts_job(std::vector<std::string> hosts, std::string launcher) {
  ExternalJob job;
  job.user.command.command = {"mpirun", "ocrtune-mpi-worker"};
  job.hosts = std::move(hosts);
  job.launcher = std::move(launcher);
  return {std::move(job)};
}

// `command` starts it; empty: it runs already.
inline Job service_job(std::string url, std::vector<std::string> command = {}) {
  ServiceJob job;
  job.requests.url = std::move(url);
  job.user.command.command = std::move(command);
  return {std::move(job)};
}

}  // namespace ocrtune
