// The backend of plain loops in NCHW: slow, and what every other backend is checked against.
#pragma once

#include <memory>

#include "core/graph/backend.h"

namespace ocrtune {

std::unique_ptr<Backend> make_reference_backend();

}  // namespace ocrtune
