// A load target made of inference workers: the built-in core as a server would run it.
//
// A free worker takes what waits, up to a batch, and never waits to fill. With the shared queue
// any worker takes the oldest requests; with static shards request i belongs to worker i mod n.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trial/workloads/engine_infer/infer_pool.h"
#include "trial/workloads/engine_infer/infer_process.h"
#include "trial/workloads/engine_infer/line_kinds.h"
#include "trial/workloads/service/load_target.h"

namespace ocrtune {

class PoolTarget final : public LoadTarget {
 public:
  // Starts one worker for each mask and waits until all are ready. Of the job: program, spec,
  // masks, exclusive, policy, gpus, share_gpus and the seconds of silence; a silent worker ends the
  // target's work (hung()). invalid: a result that is wrong (against the reference).
  // `hung` (may be null) gets the words of a worker that fell silent before it was ready.
  static Result<std::unique_ptr<PoolTarget>> start(const InferJob& job, LineKinds kinds,
                                                   std::string* hung = nullptr);

  void start(std::uint64_t request, int kind) override;
  void collect(double until_seconds, std::vector<Completion>& finished) override;
  std::string failure() const override { return failure_; }

  // Waits for the batches that are under way, where silence ends: an SLO may be met although a
  // worker that hangs has a few requests.
  void wait_until_idle();

  // Looks at /proc; what is wrong with where the workers run. Empty: nothing.
  std::vector<std::string> conflicts();
  const std::vector<Placement>& placements() const { return placements_; }
  const std::vector<GpuPlace>& gpu_places() const { return gpu_places_; }
  // Which worker fell silent; every request is answered as failed from then on. Empty: none.
  const std::string& hung() const { return hung_; }

 private:
  struct Request {
    std::uint64_t number = 0;
    int kind = 0;
  };
  struct Worker {
    std::optional<InferProcess> live;
    bool ready = false;
    int deaths = 0;
    std::deque<Request> waiting;         // its own, with static shards
    std::vector<std::uint64_t> reading;  // the batch that it has
    double heard = 0;                    // when it said something, or was given that batch
  };

  PoolTarget(InferJob job, LineKinds kinds);
  Status start_worker(std::size_t index);
  Status wait_until_ready();
  void feed(std::size_t index);
  void hear(std::size_t index);
  void take(std::size_t index, const Frame& frame);
  void reap(std::size_t index);
  void poll_once(double seconds);
  void look_for_silence();

  InferJob job_;
  LineKinds kinds_;
  std::vector<std::size_t> next_path_;  // of each kind
  ProcessTree tree_;
  std::vector<Worker> workers_;
  std::vector<Placement> placements_;
  std::vector<GpuPlace> gpu_places_;
  std::string hung_;
  std::deque<Request> shared_;
  std::size_t next_worker_ = 0;
  std::vector<Completion> answers_;
  std::string failure_;
  std::optional<Error> fatal_;
};

}  // namespace ocrtune
