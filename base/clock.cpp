// The machine's clocks, by the standard library.
#include "base/clock.h"

#include <chrono>
#include <ctime>
#include <thread>

namespace ocrtune {
namespace {

class SteadyClock final : public Clock {
 public:
  double now_seconds() override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void sleep_seconds(double seconds) override {
    if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
};

double cpu_seconds(clockid_t clock) {
  timespec used{};
  ::clock_gettime(clock, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

}  // namespace

Clock& steady_clock() {
  // It has no state, so threads that outlive main() may still ask it (tried under the thread
  // sanitizer).
  static SteadyClock clock;
  return clock;
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double thread_cpu_seconds() { return cpu_seconds(CLOCK_THREAD_CPUTIME_ID); }
double process_cpu_seconds() { return cpu_seconds(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace ocrtune
