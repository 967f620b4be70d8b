// The kernel's futex(2), without FUTEX_PRIVATE_FLAG: the word lies in memory of several processes.
#include "core/comm/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace ocrtune {

static_assert(sizeof(std::atomic<std::uint32_t>) == 4 &&
              std::atomic<std::uint32_t>::is_always_lock_free);

void sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t seen, int milliseconds) {
  // FUTEX_WAIT takes the time as an interval.
  const timespec most = {milliseconds / 1000, static_cast<long>(milliseconds % 1000) * 1'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &most, nullptr, 0);
}

void wake_all(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace ocrtune
