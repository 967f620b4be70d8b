// Where a rank is, for the process that must say which one the others wait for: a word of a shared
// file that costs the rank a store, so that it is true at every step.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace ocrtune {

struct StepCounter {
  std::int64_t steps = 0;  // done
  bool inside = false;     // the next one has begun
};

class StepMark {
 public:
  StepMark() = default;  // marks nothing
  static Result<StepMark> create(const std::string& path);
  StepMark(StepMark&& other) noexcept;
  StepMark& operator=(StepMark&& other) noexcept;
  ~StepMark();

  void set(const StepCounter& place);

 private:
  std::atomic<std::int64_t>* word_ = nullptr;
};

std::string step_mark_path(const std::string& folder, int rank);
// Of a rank that may be hung or dead; nullopt: it has not begun.
std::optional<StepCounter> read_step_mark(const std::string& path);

}  // namespace ocrtune
