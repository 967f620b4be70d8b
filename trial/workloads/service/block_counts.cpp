#include "trial/workloads/service/block_counts.h"

#include <algorithm>
#include <cstddef>

namespace ocrtune {
namespace {

constexpr std::size_t kMaxBlocks = 1024;
constexpr std::size_t kFewestBlocks = 16;
constexpr std::int64_t kFewestEvents = 10;

// Variance of the block shares over that of as many independent requests.
double effect_of(const std::vector<std::int64_t>& blocks, double block_requests) {
  double sum = 0;
  for (std::int64_t events : blocks) sum += static_cast<double>(events);
  const double count = static_cast<double>(blocks.size());
  const double mean_events = sum / count;
  const double share = mean_events / block_requests;
  if (share <= 0 || share >= 1) return 1;
  double squares = 0;
  for (std::int64_t events : blocks) {
    const double distance = static_cast<double>(events) - mean_events;
    squares += distance * distance;
  }
  return squares / (count - 1) / (block_requests * share * (1 - share));
}

}  // namespace

void BlockCounts::add(bool event) {
  ++requests_;
  ++open_requests_;
  if (event) {
    ++events_;
    ++open_events_;
  }
  if (open_requests_ < block_requests_) return;
  blocks_.push_back(open_events_);
  open_requests_ = open_events_ = 0;
  if (blocks_.size() == kMaxBlocks) halve();
}

void BlockCounts::halve() {
  for (std::size_t i = 0; i < blocks_.size() / 2; ++i) {
    blocks_[i] = blocks_[2 * i] + blocks_[2 * i + 1];
  }
  blocks_.resize(blocks_.size() / 2);
  block_requests_ *= 2;
}

double BlockCounts::design_effect() const {
  if (events_ < kFewestEvents || blocks_.size() < kFewestBlocks) return 1;
  // Longer blocks see longer queues but are fewer: the largest ratio down to 24 blocks counts.
  std::vector<std::int64_t> blocks = blocks_;
  double requests = static_cast<double>(block_requests_);
  double effect = 1;
  while (true) {
    effect = std::max(effect, effect_of(blocks, requests));
    if (blocks.size() < 48) return effect;
    for (std::size_t i = 0; i < blocks.size() / 2; ++i) {
      blocks[i] = blocks[2 * i] + blocks[2 * i + 1];
    }
    blocks.resize(blocks.size() / 2);
    requests *= 2;
  }
}

}  // namespace ocrtune
