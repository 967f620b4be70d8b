// Plans of the built-in engine's memory, each made once: planning takes milliseconds, and a verdict
// asks for every point of a space several times.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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
    const auto [planned, fresh] = plans_.try_emplace(
        {knobs.backend, knobs.precision, knobs.batch, knobs.threads}, std::uint64_t{0});
    if (fresh) planned->second = plan_(knobs);
    return static_cast<double>(planned->second);
  }

 private:
  std::function<std::uint64_t(const Knobs&)> plan_;
  std::map<std::tuple<std::string, std::string, int, int>, std::uint64_t> plans_;
};

}  // namespace ocrtune
