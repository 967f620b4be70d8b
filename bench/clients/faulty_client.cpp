#include "bench/clients/faulty_client.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/files.h"

namespace ocrtune {
namespace {

void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written <= 0) ::_exit(1);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void step(int number, double seconds) {
  steady_clock().sleep_seconds(seconds);
  print(fmt::format("step {} loss 2.31 {:.3f} samples/s\n", number, kSamplesOfAStep / seconds));
}

[[noreturn]] void train(double seconds) {
  for (int number = 0;; ++number) step(number, seconds);
}

// As a thread does whose peer will never answer: it waits for a word in memory to change.
[[noreturn]] void wait_for_ever() {
  static int word = 0;
  while (true) ::syscall(SYS_futex, &word, FUTEX_WAIT, 0, nullptr, nullptr, 0);
}

[[noreturn]] void fail(const std::string& mode) {
  if (mode == "hang" || mode == "hang_peer") wait_for_ever();
  if (mode == "slow") train(20 * kStepSeconds);
  if (mode == "crash") std::exit(3);
  if (mode == "segv") std::raise(SIGSEGV);
  if (mode == "sigkill") ::kill(::getpid(), SIGKILL);
  if (mode == "garbage") {
    while (true) {
      print("\xff\xfe\x01\x80{]\r\n%%\x1b[ samples/s: \n");
      steady_clock().sleep_seconds(kStepSeconds);
    }
  }
  if (mode == "flood") {
    const std::string block(1 << 20, 'x');
    for (int i = 0; i < 1024; ++i) print(block);
    print("\n");
  }
  train(kStepSeconds);
}

// In the background, in a session of its own, deaf to SIGTERM.
void leave_a_daemon() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    std::signal(SIGTERM, SIG_IGN);
    wait_for_ever();
  }
  ::waitpid(child, nullptr, 0);
}

[[noreturn]] void run_rank(const std::string& mode, const std::string& fault_file, bool faulty) {
  if (mode == "ignore") std::signal(SIGTERM, SIG_IGN);
  if (mode == "daemon") leave_a_daemon();
  for (int number = 0; number < kStepsBeforeTheFault; ++number) {
    if (faulty && mode == "bytes") print("\xff\xfe \xc3\x28 loss=\x80 ");
    if (faulty) {
      step(number, kStepSeconds);
    } else {
      steady_clock().sleep_seconds(kStepSeconds);
    }
  }
  if (!faulty) wait_for_ever();  // a collective whose peer has gone
  const double now = steady_clock().now_seconds();
  if (!write_file(fault_file, fmt::format("{:.6f}", now))) std::exit(2);
  if (mode == "bytes") {
    while (true) {
      print("\xff\xfe \xc3\x28 loss=\x80 ");
      step(0, kStepSeconds);
    }
  }
  fail(mode);
}

// Two ranks, each in its own session, as Paddle's launcher starts them; it ends as its first rank
// that fails, but does not notice in the modes that end with "_peer".
[[noreturn]] void launch(const std::string& mode, const std::string& fault_file) {
  for (int rank = 0; rank < 2; ++rank) {
    if (::fork() != 0) continue;
    ::setsid();
    run_rank(mode, fault_file, rank == 1);
  }
  int status = 0;
  ::wait(&status);
  print("launcher: a rank has failed\n");
  std::exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

}  // namespace

int run_faulty_client(const std::string& mode, const std::string& fault_file) {
  if (mode == "crash" || mode == "segv" || mode == "sigkill" || mode == "hang_peer") {
    launch(mode, fault_file);
  }
  if (mode == "mute") {
    if (!write_file(fault_file, fmt::format("{:.6f}", steady_clock().now_seconds()))) return 2;
    wait_for_ever();
  }
  run_rank(mode, fault_file, true);
}

}  // namespace ocrtune
