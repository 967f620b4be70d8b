// The kind of workload that answers requests and is the user's own: a command that is started for
// each trial, or a server that runs already. Beside the built-in engine's because one program,
// `ocrtune infer-trial`, drives both.
#pragma once

#include <memory>

#include "trial/workloads/command/user_command.h"
#include "trial/workloads/engine_infer/infer_runner.h"
#include "trial/workloads/workload.h"

namespace ocrtune {

// `inference` says what is sent and where to; `command` what is started, nothing where its command
// is empty.
std::unique_ptr<const Workload> make_user_service(InferenceWorkload inference,
                                                  UserCommandOptions command);

}  // namespace ocrtune
