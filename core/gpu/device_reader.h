// Logits of lines on a GPU, for any Executor of core/gpu/device_network.h: one network for each
// shape of batch, all with the same weights.
#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "core/gpu/device_network.h"
#include "core/infer/logit_maker.h"

namespace ocrtune::device {

template <typename Executor, typename Value = float>
class DeviceReader final : public LogitMaker {
 public:
  // `executor` must outlive the reader.
  explicit DeviceReader(Executor& executor) : executor_(executor) {}

  Status take(const Graph& graph, std::span<const float> parameters,
              std::span<const float> statistics) override {
    graph_ = &graph;
    weights_ = OCRTUNE_TRY(executor_.allocate(
        std::max<std::size_t>(64, (parameters.size() + statistics.size()) * sizeof(float))));
    auto* start = weights_.template as<float>();
    OCRTUNE_TRY(executor_.upload(start, parameters.data(), parameters.size_bytes()));
    OCRTUNE_TRY(
        executor_.upload(start + parameters.size(), statistics.data(), statistics.size_bytes()));
    if (std::is_same_v<Value, float>) return Status();
    copies_ = OCRTUNE_TRY(
        executor_.allocate(std::max<std::size_t>(64, parameters.size() * sizeof(Value))));
    return copy_parameters(executor_, start, parameters.size(), copies_.template as<Value>());
  }

  Result<std::span<const float>> infer(const Batch& batch) override {
    const Shape shape{batch.count, batch.channels, batch.height, batch.width};
    const auto network = OCRTUNE_TRY(network_of(shape));
    logits_ = OCRTUNE_TRY(network->infer(batch));
    return std::span<const float>(logits_);
  }

 private:
  using Net = DeviceNetwork<Executor, Value>;

  struct Entry {
    Shape shape;
    std::unique_ptr<Net> network;
  };

  Result<Net*> network_of(const Shape& shape) {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.shape == shape; });
    if (found != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, found);
      return entries_.front().network.get();
    }
    if (entries_.size() >= kMaxReaderShapes) entries_.pop_back();
    auto made = make(shape);
    if (!made && made.error().kind == ErrorKind::exhausted && !entries_.empty()) {
      entries_.clear();  // the other shapes make room
      return keep(shape, make(shape));
    }
    return keep(shape, std::move(made));
  }

  Result<std::unique_ptr<Net>> make(const Shape& shape) {
    DeviceUse use;
    use.training = false;
    use.weights = weights_.template as<float>();
    use.copies = copies_.template as<void>();
    return Net::create(*graph_, executor_, shape, use);
  }

  Result<Net*> keep(const Shape& shape, Result<std::unique_ptr<Net>> made) {
    if (!made) return made.error();
    entries_.push_front({shape, std::move(*made)});
    return entries_.front().network.get();
  }

  Executor& executor_;
  const Graph* graph_ = nullptr;
  typename Executor::Buffer weights_, copies_;
  std::list<Entry> entries_;  // the latest first; the one longest unused goes
  std::vector<float> logits_;
};

}  // namespace ocrtune::device
