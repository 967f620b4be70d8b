// Orders are computed, not stored: a place in an epoch goes through a permutation whose key comes
// from the seed and the epoch.
#include "core/data/batch_plan.h"

#include <algorithm>
#include <bit>

#include "base/random.h"

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

std::int64_t permuted(std::int64_t index, std::int64_t size, std::uint64_t key) {
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size) - 1));
  // Both halves have equal bits, so the network's domain is at most four times `size`; values
  // beyond it are sent through again.
  const int half = (bits + 1) / 2 + (bits == 0 ? 1 : 0);
  const std::uint64_t mask = (1ULL << half) - 1;
  auto value = static_cast<std::uint64_t>(index);
  do {
    std::uint64_t left = value >> half, right = value & mask;
    // The number of rounds is a guess.
    for (std::uint64_t round = 0; round < 6; ++round) {
      const std::uint64_t mixed = mix_bits(key ^ mix_bits(right + (round << 56) + 1)) & mask;
      const std::uint64_t next = left ^ mixed;
      left = right;
      right = next;
    }
    value = left << half | right;
  } while (value >= static_cast<std::uint64_t>(size));
  return static_cast<std::int64_t>(value);
}

BatchSchedule::Place BatchSchedule::place(std::int64_t sequence) const {
  const auto count = static_cast<std::int64_t>(shapes.size());
  Place found;
  found.round = (first_batch + sequence) / count;
  const std::uint64_t key =
      mix_bits(seed + 0x5CA1E) ^ mix_bits(static_cast<std::uint64_t>(found.round) + 1);
  for (std::int64_t turn = 0; turn <= (first_batch + sequence) % count; ++turn) {
    found.first_item += found.shape.count;
    found.shape = shapes[static_cast<std::size_t>(permuted(turn, count, key))];
  }
  return found;
}

int BatchSchedule::round_lines() const {
  int lines = 0;
  for (const BatchShape& shape : shapes) lines += shape.count;
  return lines;
}

std::int64_t BatchPlan::batches_per_epoch() const {
  return lines / (static_cast<std::int64_t>(batch) * world_size);
}

std::int64_t BatchPlan::line(std::int64_t sequence, int item, int attempt) const {
  const std::int64_t per_epoch = batches_per_epoch();
  const std::int64_t epoch = (first_batch + sequence) / per_epoch;
  const std::int64_t global_batch = (first_batch + sequence) % per_epoch;
  const std::int64_t place = (global_batch * world_size + rank) * batch + item;
  const std::uint64_t key = mix_bits(seed) ^ mix_bits(static_cast<std::uint64_t>(epoch) + 1);
  if (attempt == 0) return permuted(place, lines, key);
  const auto where = static_cast<std::uint64_t>(place);
  // A replacement is any line of the data: it may stand in the epoch already.
  return Random(key).fork(where).fork(static_cast<std::uint64_t>(attempt)).integer(0, lines - 1);
}

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
