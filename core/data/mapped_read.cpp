#include "core/data/mapped_read.h"

#include <unistd.h>

#include <array>
#include <csetjmp>
#include <csignal>
#include <ctime>
#include <mutex>

#include "base/check.h"

namespace ocrtune {
namespace {

thread_local sigjmp_buf* t_way_out = nullptr;
constexpr std::array kFaults = {SIGBUS, SIGSEGV, SIGFPE, SIGVTALRM};
constexpr time_t kMaxCpuSeconds = 2;
std::array<struct sigaction, kFaults.size()> g_before;

// A fault of other code: as if this handler were not there, at the same instruction once more.
void on_fault(int number) {
  if (t_way_out != nullptr) siglongjmp(*t_way_out, 1);
  if (number == SIGVTALRM) return;  // the read has just ended
  for (std::size_t i = 0; i < kFaults.size(); ++i) {
    if (kFaults[i] == number) ::sigaction(number, &g_before[i], nullptr);
  }
}

void catch_faults() {
  struct sigaction action {};
  action.sa_handler = on_fault;
  for (std::size_t i = 0; i < kFaults.size(); ++i) ::sigaction(kFaults[i], &action, &g_before[i]);
}

// SIGVTALRM for this thread when it has computed for so long; 0: never.
void limit_cpu_seconds(time_t seconds) {
  thread_local timer_t timer{};
  thread_local pid_t owner = 0;  // a forked child has none of its parent's timers
  if (owner != ::getpid()) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGVTALRM;
    event._sigev_un._tid = ::gettid();
    if (::timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0) return;
    owner = ::getpid();
  }
  itimerspec due{};
  due.it_value.tv_sec = seconds;
  ::timer_settime(timer, 0, &due, nullptr);
}

}  // namespace

bool read_mapped(const std::function<void()>& read) {
  static std::once_flag caught;
  std::call_once(caught, catch_faults);
  OCRTUNE_CHECK(t_way_out == nullptr);
  sigjmp_buf way_out;
  if (sigsetjmp(way_out, 1) != 0) {
    t_way_out = nullptr;
    limit_cpu_seconds(0);
    return false;
  }
  t_way_out = &way_out;
  limit_cpu_seconds(kMaxCpuSeconds);
  read();
  t_way_out = nullptr;
  limit_cpu_seconds(0);
  return true;
}

void leave_mapped_read() {
  OCRTUNE_CHECK(t_way_out != nullptr);
  siglongjmp(*t_way_out, 1);
}

}  // namespace ocrtune
