// Takes the secrets of a launch out of what its trial keeps: log, reason and evidence.
#pragma once

#include "trial/trial.h"
#include "trial/workloads/launch.h"

namespace ocrtune {

void hide_secrets(const Launch& launch, Trial& trial);

}  // namespace ocrtune
