#include "core/data/batch_order.h"

#include <algorithm>

namespace ocrtune {
namespace {

class RoundOrder final : public BatchOrder {
 public:
  RoundOrder(const BatchPlan& plan, const BatchSchedule& schedule)
      : plan_(plan), schedule_(schedule) {}

  BatchShape shape(std::int64_t sequence) const override { return schedule_.place(sequence).shape; }
  std::int64_t line(std::int64_t sequence, int item, int attempt) const override {
    const BatchSchedule::Place place = schedule_.place(sequence);
    return plan_.line(place.round, place.first_item + item, attempt);
  }
  std::int64_t batches_per_epoch() const override {
    return plan_.batches_per_epoch() * static_cast<std::int64_t>(schedule_.shapes.size());
  }
  const std::vector<BatchShape>& shapes() const override { return schedule_.shapes; }

 private:
  BatchPlan plan_;
  BatchSchedule schedule_;
};

}  // namespace

int BatchOrder::max_images() const {
  int most = 0;
  for (const BatchShape& shape : shapes()) most = std::max(most, shape.count);
  return most;
}

std::size_t BatchOrder::max_floats() const {
  std::size_t most = 0;
  for (const BatchShape& shape : shapes()) most = std::max(most, image_floats(shape));
  return most;
}

std::unique_ptr<BatchOrder> make_round_order(const BatchPlan& plan, const BatchSchedule& schedule) {
  return std::make_unique<RoundOrder>(plan, schedule);
}

}  // namespace ocrtune
