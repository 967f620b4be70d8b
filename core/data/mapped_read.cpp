#include "core/data/mapped_read.h"

#include <array>
#include <csetjmp>
#include <csignal>
#include <mutex>

#include "base/check.h"

namespace ocrtune {
namespace {

thread_local sigjmp_buf* t_way_out = nullptr;
constexpr std::array kFaults = {SIGBUS, SIGSEGV, SIGFPE};
std::array<struct sigaction, kFaults.size()> g_before;

// A fault of other code: as if this handler were not there, at the same instruction once more.
void on_fault(int number) {
  if (t_way_out != nullptr) siglongjmp(*t_way_out, 1);
  for (std::size_t i = 0; i < kFaults.size(); ++i) {
    if (kFaults[i] == number) ::sigaction(number, &g_before[i], nullptr);
  }
}

void catch_faults() {
  struct sigaction action {};
  action.sa_handler = on_fault;
  for (std::size_t i = 0; i < kFaults.size(); ++i) ::sigaction(kFaults[i], &action, &g_before[i]);
}

}  // namespace

bool read_mapped(const std::function<void()>& read) {
  static std::once_flag caught;
  std::call_once(caught, catch_faults);
  OCRTUNE_CHECK(t_way_out == nullptr);
  sigjmp_buf way_out;
  if (sigsetjmp(way_out, 1) != 0) {
    t_way_out = nullptr;
    return false;
  }
  t_way_out = &way_out;
  read();
  t_way_out = nullptr;
  return true;
}

void leave_mapped_read() {
  OCRTUNE_CHECK(t_way_out != nullptr);
  siglongjmp(*t_way_out, 1);
}

}  // namespace ocrtune
