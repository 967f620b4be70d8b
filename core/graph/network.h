// Runs a graph: forward, loss and backward for any batch shape, plans kept per shape, one arena.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "core/graph/backend.h"
#include "core/graph/batch.h"
#include "core/graph/ctc.h"
#include "core/graph/graph.h"

namespace ocrtune {

class Network {
 public:
  // `graph` and `backend` must outlive the network.
  Network(const Graph& graph, const Backend& backend);
  ~Network();
  Network(Network&&) noexcept;

  // Makes the plan of a shape and the memory for it, unless they are there. A later, smaller shape
  // uses the same memory.
  Status prepare(const Shape& image, bool training);

  // Loss of the batch; `gradients` (flat, as Graph::parameters) gets its gradients. The running
  // statistics move.
  // `watch` (may be empty) is told during backward that gradients[from, end) are final.
  using GradientWatch = std::function<Status(std::size_t from)>;
  Result<CtcLoss> train(const Batch& batch, std::span<const float> parameters,
                        std::span<float> statistics, std::span<float> gradients,
                        const GradientWatch& watch = {});

  // Logits [N, T, classes] with the running statistics; valid until the next call. A batch whose
  // activations do not fit in the cache goes through in parts of equal size.
  Result<std::span<const float>> infer(const Batch& batch, std::span<const float> parameters,
                                       std::span<const float> statistics);

  // A contract: all further calls are infer with the same parameters, which never change. Operators
  // then keep the weights in the order that their kernels read: as many bytes again as the weights.
  void fix_parameters();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Arena bytes that the shape will need, and in inference any with fewer pixels; logits included.
Result<std::size_t> network_arena_bytes(const Graph& graph, const Backend& backend,
                                        const Shape& image, bool training);

}  // namespace ocrtune
