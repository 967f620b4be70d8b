// A reader makes pages (8 ms each); --threads threads ask an empty queue for them without rest,
// giving up their CPU between.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  int threads = 1;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--threads") == 0) threads = std::atoi(argv[i + 1]);
  }
  std::atomic<int> ready{0};
  std::atomic<long> taken{0};
  std::vector<std::thread> takers;
  for (int i = 0; i < threads; ++i) {
    takers.emplace_back([&] {
      for (;;) {
        int count = ready;
        if (count > 0 && ready.compare_exchange_strong(count, count - 1)) {
          ++taken;
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  std::atomic<double> kept{0};
  long seen = 0;
  auto last = std::chrono::steady_clock::now();
  for (;;) {
    double sum = 0;
    for (int i = 1; i < 500000; ++i) sum += std::sqrt(sum + i);
    kept = sum;
    ++ready;
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last).count();
    if (seconds < 0.3) continue;
    std::printf("speed %.2f pages/s\n", static_cast<double>(taken - seen) / seconds);
    std::fflush(stdout);
    seen = taken;
    last = now;
  }
}
