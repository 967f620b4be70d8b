// One process to start, as data: what a trial measures, an answer tells, and `run` starts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/process.h"
#include "base/result.h"
#include "trial/trial.h"

namespace ocrtune {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct Launch {
  std::vector<std::string> arguments;
  Variables environment;  // added to the inherited one; each name once
  std::string directory;  // empty: the caller's
  std::string scratch;    // a folder that it writes to, to be made first; empty: none
  std::string server;     // address of one that runs already, so that nothing is started
};

// Adds the variable, or gives the one of this name the new value.
void set_variable(Variables& environment, const std::string& name, const std::string& value);

// How ocrtune starts it, with its output in a pipe.
ProcessOptions process_options(const Launch& launch);

// One line for a shell (shell_line() of base/text.h): "mkdir -p SCRATCH && cd DIR && NAME=value
// argv"; no cd where DIR is the current folder. A secret (base/secrets.h) is not told: its variable
// is taken from the shell's own environment.
std::string launch_text(const Launch& launch);
std::string launch_text(const Result<Launch>& launch);  // an error as a comment

// What a trial's log and reasons must not hold: the values of secrets in the launch and in our own
// environment.
std::vector<std::string> secrets_of(const Launch& launch);

// Takes the secrets of a launch out of what its trial keeps: log, reason and evidence.
void hide_secrets(const Launch& launch, Trial& trial);

}  // namespace ocrtune
