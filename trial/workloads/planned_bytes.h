// Plans of the built-in engine's memory, each made once: planning takes milliseconds, half a second
// with a model file, and a verdict asks for every point of a space several times.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "trial/knobs.h"

namespace ocrtune {

// Libraries, code and stacks of one process: measured, CRNN on oneDNN with two threads.
inline constexpr double kProcessBytes = 30e6;

class PlannedBytes {
 public:
  // `plan` depends on backend, precision, batch and threads alone; 0: it cannot tell.
  explicit PlannedBytes(std::function<std::uint64_t(const Knobs&)> plan) : plan_(std::move(plan)) {}

  double of(const Knobs& knobs) {
    const std::lock_guard lock(mutex_);
    const auto [planned, fresh] = plans_.try_emplace(
        {knobs.backend, knobs.precision, knobs.batch, knobs.threads}, std::uint64_t{0});
    if (fresh) planned->second = plan_(knobs);
    return static_cast<double>(planned->second);
  }

 private:
  std::mutex mutex_;  // judgements of several runs share it
  std::function<std::uint64_t(const Knobs&)> plan_;
  std::map<std::tuple<std::string, std::string, int, int>, std::uint64_t> plans_;
};

// One for all workloads of this process with an equal `job`, which says all that `plan` depends on
// beside the knobs; `model` may be a file, which counts as another one once it has changed.
inline std::shared_ptr<PlannedBytes> planned_once(std::string job, const std::string& model,
                                                  std::function<std::uint64_t(const Knobs&)> plan) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<PlannedBytes>> all;
  struct stat facts {};
  const bool file = ::stat(model.c_str(), &facts) == 0;
  job += " " + model;
  if (file) {
    for (const auto number : {facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec})
      job += " " + std::to_string(number);
  }
  const std::lock_guard lock(mutex);
  auto& plans = all[job];
  if (plans == nullptr) plans = std::make_shared<PlannedBytes>(std::move(plan));
  return plans;
}

}  // namespace ocrtune
