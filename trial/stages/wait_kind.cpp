// Names of kernel functions are matched by parts, since they change with versions and compilers.
// Where wchan is hidden, the number of the system call stands in. Numbers of calls are those of the
// architecture that this was built for.
#include "trial/stages/wait_kind.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"

namespace ocrtune {
namespace {

struct Place {
  std::string_view part;  // of the kernel function's name
  WaitKind kind;
};

// First match wins. Names differ between kernels by prefixes and by what the compiler appends.
constexpr std::array kPlaces = {
    Place{"futex", WaitKind::futex},
    Place{"nanosleep", WaitKind::sleeping},
    Place{"sigtimedwait", WaitKind::sleeping},
    Place{"pipe_", WaitKind::pipe},
    Place{"unix_", WaitKind::pipe},
    Place{"poll_schedule_timeout", WaitKind::network},
    Place{"ep_poll", WaitKind::network},
    Place{"do_epoll", WaitKind::network},
    Place{"do_sys_poll", WaitKind::network},
    Place{"do_select", WaitKind::network},
    Place{"accept", WaitKind::network},
    Place{"sk_wait", WaitKind::network},
    Place{"sk_stream", WaitKind::network},
    Place{"wait_woken", WaitKind::network},
    Place{"skb_wait", WaitKind::network},
    Place{"inet_", WaitKind::network},
    Place{"tcp_", WaitKind::network},
    Place{"do_wait", WaitKind::child},
    Place{"kernel_wait", WaitKind::child},
    Place{"read_events", WaitKind::disk},
    Place{"cqring_wait", WaitKind::disk},
};

// A system call as its line has it: the number, and arguments in hexadecimal.
struct Call {
  long number = -1;
  std::array<std::uint64_t, 4> arguments = {};
};

std::optional<Call> parse_call(std::string_view line) {
  const std::vector<std::string> fields = words(line);
  if (fields.size() < 5) return std::nullopt;  // "running", or -1 outside a call
  const auto number = parse_integer(fields[0]);
  if (!number || *number < 0) return std::nullopt;
  Call call;
  call.number = static_cast<long>(*number);
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    call.arguments[i] = std::strtoull(fields[i + 1].c_str(), nullptr, 16);
  }
  return call;
}

bool is_mutex(const Call& call) {
  constexpr std::uint64_t kHeldWithWaiters = 2, kWriterOfReadWriteLock = 3;
  // Without the flags for private futexes and clocks (futex(2)).
  const std::uint64_t operation = call.arguments[1] & FUTEX_CMD_MASK;
  const bool waits = operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
  // The third argument is the value that the word had when the thread went to sleep.
  const std::uint64_t word = call.arguments[2] & 0xffffffffU;
  return waits && (word == kHeldWithWaiters || word == kWriterOfReadWriteLock);
}

// poll and select of no descriptor are a sleep.
bool polls_nothing(const Call& call) {
#ifdef SYS_poll
  if (call.number == SYS_poll) return call.arguments[1] == 0;
#endif
#ifdef SYS_select
  if (call.number == SYS_select) return call.arguments[0] == 0;
#endif
  if (call.number == SYS_ppoll) return call.arguments[1] == 0;
  return call.number == SYS_pselect6 && call.arguments[0] == 0;
}

WaitKind kind_of_call(const Call& call) {
  switch (call.number) {
    case SYS_futex:
      return WaitKind::futex;
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
      return WaitKind::sleeping;
    case SYS_wait4:
    case SYS_waitid:
      return WaitKind::child;
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_sendto:
    case SYS_epoll_pwait:
    case SYS_ppoll:
    case SYS_pselect6:
// arm64 has no such calls, only their newer forms.
#ifdef SYS_poll
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
#endif
      return WaitKind::network;
    case SYS_read:
    case SYS_write:
      return WaitKind::pipe;  // a file's reader is in state D
    default:
      return WaitKind::other;
  }
}

bool is_known(std::string_view place) { return !place.empty() && place != "0"; }

WaitKind kind_of_place(std::string_view place) {
  const auto* found = std::find_if(kPlaces.begin(), kPlaces.end(), [&](const Place& one) {
    return place.find(one.part) != std::string_view::npos;
  });
  return found == kPlaces.end() ? WaitKind::other : found->kind;
}

}  // namespace

WaitKind wait_kind(char state, std::string_view place, std::string_view line) {
  if (state == 'R') return WaitKind::running;
  // Locks of the kernel's own are waited for uninterruptibly, too: of the memory map, of a folder.
  const bool of_kernel = place.find("rwsem") != std::string_view::npos ||
                         place.find("mutex") != std::string_view::npos;
  if (state == 'D') return of_kernel ? WaitKind::other : WaitKind::disk;
  if (state != 'S') return WaitKind::other;
  const std::optional<Call> call = parse_call(line);
  const WaitKind kind =
      is_known(place) ? kind_of_place(place) : (call ? kind_of_call(*call) : WaitKind::other);
  if (kind == WaitKind::futex && call && is_mutex(*call)) return WaitKind::mutex;
  // The fourth argument is the time limit; null waits without one.
  const bool timed = call && call->number == SYS_futex && call->arguments[3] != 0;
  if (kind == WaitKind::futex && timed) return WaitKind::timed;
  if (kind == WaitKind::network && call && polls_nothing(*call)) return WaitKind::sleeping;
  return kind;
}

bool needs_call(char state, std::string_view place) {
  if (state != 'S') return false;
  if (!is_known(place)) return true;
  const WaitKind kind = kind_of_place(place);
  return kind == WaitKind::futex || kind == WaitKind::network;
}

}  // namespace ocrtune
