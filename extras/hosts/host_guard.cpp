// A loop that reads the machine's available memory. The ranks are not its children, so it can only
// tell.
#include "extras/hosts/host_guard.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {

Trial guard_memory(const std::function<std::uint64_t()>& available,
                   const std::function<bool()>& ended) {
  // A process can take gigabytes in the time of a slower loop.
  constexpr auto kPause = std::chrono::milliseconds(20);
  constexpr std::uint64_t kReserve = 100;  // of what there was
  const std::uint64_t before = available();
  std::uint64_t least = before;
  Trial trial;
  trial.outcome = Outcome::ok;
  while (!ended() && least >= before / kReserve) {
    std::this_thread::sleep_for(kPause);
    least = std::min(least, available());
  }
  if (least < before / kReserve) {
    trial.outcome = Outcome::out_of_memory;
    trial.cause = "host";
    trial.reason = fmt::format("stopped: the machine had {} of memory left", format_bytes(least));
  }
  trial.evidence.push_back(fmt::format("its available memory fell by {}, by all programs on it",
                                       format_bytes(before - least)));
  return trial;
}

}  // namespace ocrtune
