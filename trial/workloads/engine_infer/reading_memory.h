// GPU memory of a process that reads lines of every width, by plan.
#pragma once

#include <cstdint>

#include "core/infer/recognizer.h"

namespace ocrtune {

// core/gpu/device_footprint.h's plan is that of the largest batch; a reader keeps a network ready
// for each shape that comes often (core/infer/logit_maker.h), whose activations come on top: in
// proportion to their lines and widths. Errors: as device_reading_bytes.
Result<std::uint64_t> all_shapes_reading_bytes(const RecognizerOptions& options, int classes);

}  // namespace ocrtune
