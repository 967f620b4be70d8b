// Processes that make batches ahead of time and hand them over in shared memory, as the workers of
// PaddlePaddle's DataLoader do.
//
// Batch k is made by worker k % workers, so that batches come in order whatever the speed of each.
// The memory is anonymous: it goes with the last process, and no size of /dev/shm limits it. A
// worker is killed by the kernel when the thread that started it ends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "core/data/batch_maker.h"

namespace ocrtune {

struct ReadyBatch {
  std::span<const float> images;
  std::span<const std::int64_t> lines;
  std::vector<BadLine> bad;
  Status made;  // what BatchMaker::make said; if it failed, images and lines mean nothing
};

class LoaderWorkers {
 public:
  // exhausted: no memory for workers * depth batches, or no process. `maker` must outlive this.
  static Result<std::unique_ptr<LoaderWorkers>> start(const BatchMaker& maker, int workers,
                                                      int depth);
  // The two parts of it: the memory, and what each worker does until `ended`, which is asked before
  // each batch and twice a second.
  static Result<std::unique_ptr<LoaderWorkers>> reserve(const BatchMaker& maker, int workers,
                                                        int depth);
  void serve(int worker, const std::function<bool()>& ended);
  ~LoaderWorkers();  // ends the workers at once

  // Waits for batch `sequence`: 0, 1, 2... The spans are valid until give_back(). failed: a worker
  // died, with its signal or exit code. One that is stopped alone goes on after a second.
  Result<ReadyBatch> take(std::int64_t sequence);
  void give_back(std::int64_t sequence);

  const std::vector<int>& pids() const { return pids_; }

 private:
  struct Slot;

  LoaderWorkers(const BatchMaker& maker, int workers, int depth);
  Slot& slot(std::int64_t sequence) const;
  std::uint32_t generation(std::int64_t sequence) const;
  void fill(Slot& slot, std::int64_t sequence);
  Status check_worker(std::size_t worker);

  const BatchMaker* maker_;
  std::int64_t workers_, depth_;
  std::size_t slot_bytes_ = 0, mapped_bytes_ = 0;
  std::byte* memory_ = nullptr;
  std::vector<int> pids_;  // 0 once reaped
  Status failure_;         // of the first worker that died
};

}  // namespace ocrtune
