// One rank alone: its own gradients are the mean.
#include <algorithm>
#include <vector>

#include "base/check.h"
#include "core/comm/comm.h"

namespace ocrtune {
namespace {

constexpr std::size_t kAlignment = 64;

class SingleComm final : public Comm {
 public:
  RankPlace place() const override { return RankPlace{}; }

  Result<std::span<float>> gradient_buffer(std::size_t count) override {
    memory_.assign(count + kAlignment / sizeof(float), 0.0F);
    void* start = memory_.data();
    std::size_t room = memory_.size() * sizeof(float);
    OCRTUNE_CHECK(std::align(kAlignment, count * sizeof(float), start, room) != nullptr);
    return std::span<float>(static_cast<float*>(start), count);
  }

  Status all_reduce_mean(std::size_t, std::size_t, double* wait_seconds) override {
    if (wait_seconds != nullptr) *wait_seconds = 0;
    return Status();
  }

  Status start_mean(std::size_t, std::size_t) override { return Status(); }
  Status advance() override { return Status(); }
  Status finish_means(double* wait_seconds) override { return all_reduce_mean(0, 0, wait_seconds); }

  Status barrier() override { return Status(); }

 private:
  std::vector<float> memory_;
};

}  // namespace

std::unique_ptr<Comm> make_single_comm() { return std::make_unique<SingleComm>(); }

}  // namespace ocrtune
