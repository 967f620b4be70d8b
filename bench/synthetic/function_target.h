// A load target inside this process: threads that take waiting requests and call a function.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "trial/workloads/service/load_target.h"

namespace ocrtune {

struct WaitingRequest {
  std::uint64_t number = 0;
  int kind = 0;
};

// Does the work of a whole batch; an empty text says that it went well, else why not. Called from
// several threads at once, `thread` in [0, threads).
using BatchWork = std::function<std::string(const std::vector<WaitingRequest>& batch, int thread)>;

struct FunctionTargetOptions {
  int threads = 1;
  int batch = 1;  // requests that one call takes at most; it does not wait for a full batch
};

class FunctionTarget final : public LoadTarget {
 public:
  FunctionTarget(FunctionTargetOptions options, BatchWork work);
  ~FunctionTarget() override;  // waits for the calls in progress; what still waits is dropped
  FunctionTarget(const FunctionTarget&) = delete;
  FunctionTarget& operator=(const FunctionTarget&) = delete;

  void start(std::uint64_t request, int kind) override;
  void collect(double until_seconds, std::vector<Completion>& finished) override;
  std::string failure() const override;

 private:
  void serve(int thread);
  std::size_t take(std::vector<WaitingRequest>& batch, bool quick);

  FunctionTargetOptions options_;
  BatchWork work_;
  Clock& clock_;
  std::vector<WaitingRequest> outbox_;  // of the generator's thread, not yet handed over

  mutable std::mutex mutex_;
  std::condition_variable work_waits_;
  std::condition_variable answer_waits_;
  std::deque<WaitingRequest> waiting_;
  std::vector<Completion> answers_;
  std::string failure_;
  int idle_ = 0;
  bool collector_waits_ = false;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ocrtune
