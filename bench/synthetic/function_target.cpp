#include "bench/synthetic/function_target.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "base/check.h"

namespace ocrtune {
namespace {

// Below this a call costs less than the lock, so a thread takes several requests at a time.
constexpr double kQuickSeconds = 5e-6;
constexpr std::size_t kMaxTaken = 64;

std::chrono::steady_clock::time_point time_point(double seconds) {
  return std::chrono::steady_clock::time_point(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(
          std::chrono::duration<double>(seconds)));
}

}  // namespace

FunctionTarget::FunctionTarget(FunctionTargetOptions options, BatchWork work)
    : options_(options), work_(std::move(work)), clock_(steady_clock()) {
  OCRTUNE_CHECK(options_.threads > 0 && options_.batch > 0 && work_);
  for (int i = 0; i < options_.threads; ++i) {
    threads_.emplace_back([this, i] { serve(i); });
  }
}

FunctionTarget::~FunctionTarget() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  work_waits_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void FunctionTarget::start(std::uint64_t request, int kind) { outbox_.push_back({request, kind}); }

void FunctionTarget::collect(double until_seconds, std::vector<Completion>& finished) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!outbox_.empty()) {
    waiting_.insert(waiting_.end(), outbox_.begin(), outbox_.end());
    outbox_.clear();
    if (idle_ > 0) work_waits_.notify_all();
  }
  if (answers_.empty() && clock_.now_seconds() < until_seconds) {
    collector_waits_ = true;
    answer_waits_.wait_until(lock, time_point(until_seconds), [this] { return !answers_.empty(); });
    collector_waits_ = false;
  }
  finished.insert(finished.end(), answers_.begin(), answers_.end());
  answers_.clear();
}

std::string FunctionTarget::failure() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

// Under the lock. A slow function gets one batch; a quick one several, while others wait as well.
std::size_t FunctionTarget::take(std::vector<WaitingRequest>& batch, bool quick) {
  const auto most = static_cast<std::size_t>(options_.batch);
  std::size_t count = std::min(most, waiting_.size());
  if (quick && most == 1) {
    const std::size_t fair = waiting_.size() / static_cast<std::size_t>(2 * options_.threads);
    count = std::max(count, std::min(fair, kMaxTaken));
  }
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
  batch.assign(waiting_.begin(), end);
  waiting_.erase(waiting_.begin(), end);
  return count;
}

void FunctionTarget::serve(int thread) {
  std::vector<WaitingRequest> batch;
  std::vector<WaitingRequest> call;
  std::vector<Completion> done;
  bool quick = false;
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    ++idle_;
    work_waits_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    --idle_;
    if (ending_) return;
    take(batch, quick);
    lock.unlock();
    const auto most = static_cast<std::size_t>(options_.batch);
    const double begin = clock_.now_seconds();
    std::string failure;
    done.clear();
    for (std::size_t first = 0; first < batch.size(); first += most) {
      const std::size_t last = std::min(batch.size(), first + most);
      call.assign(batch.begin() + static_cast<std::ptrdiff_t>(first),
                  batch.begin() + static_cast<std::ptrdiff_t>(last));
      const std::string wrong = work_(call, thread);
      const double now = clock_.now_seconds();
      for (const WaitingRequest& one : call) done.push_back({one.number, now, wrong.empty()});
      if (!wrong.empty()) failure = wrong;
    }
    quick =
        done.back().finished_seconds - begin < kQuickSeconds * static_cast<double>(batch.size());
    lock.lock();
    if (!failure.empty()) failure_ = failure;
    answers_.insert(answers_.end(), done.begin(), done.end());
    if (collector_waits_) answer_waits_.notify_one();
  }
}

}  // namespace ocrtune
