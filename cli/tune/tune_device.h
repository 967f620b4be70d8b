// The part of `ocrtune tune` that decides on which device the built-in core computes.
#pragma once

#include "base/result.h"
#include "cli/tune/job_flags.h"
#include "probes/machine/machine.h"
#include "tuner/space/device_choice.h"

namespace ocrtune {

// usage: a command or a server of the user's own is to be measured, and cannot be moved.
Status check_device_flags(const JobFlags& typed, const DeviceRequest& request);

// Fills the GPUs of a job of the built-in engine, if any, and says on stderr which and why, before
// anything is measured. auto falls back to the CPUs in words. Errors as choose_device's; exhausted:
// the model does not fit a GPU.
Status read_device(Job& job, const SearchRequest& search, DeviceRequest request,
                   const Machine& machine);

}  // namespace ocrtune
