// The fast CPU backend: convolutions and large matrix products on oneDNN, the rest in our own
// vector loops on the same blocked layouts.
#pragma once

#include <memory>

#include "core/graph/backend.h"

namespace ocrtune {

std::unique_ptr<Backend> make_onednn_backend(bool bf16);

}  // namespace ocrtune
