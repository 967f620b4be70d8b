// Who computes a recogniser's logits, when that is not a backend on the CPUs.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "core/graph/batch.h"
#include "core/graph/graph.h"

namespace ocrtune {

// Shapes of batches, of every width and power of two of lines that come often, for which a GPU's
// maker keeps a network ready.
inline constexpr std::size_t kMaxReaderShapes = 24;

class LogitMaker {
 public:
  virtual ~LogitMaker() = default;

  // Once, before the first batch: the folded graph, which stays where it is, and its weights.
  virtual Status take(const Graph& graph, std::span<const float> parameters,
                      std::span<const float> statistics) = 0;
  // [N, T, classes]; valid until the next call. Labels are not looked at.
  virtual Result<std::span<const float>> infer(const Batch& batch) = 0;
};

}  // namespace ocrtune
