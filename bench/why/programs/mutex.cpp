// 8 threads share one model behind a std::mutex: 5 ms under it, 0.3 ms beside it for each page.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

using Clock = std::chrono::steady_clock;

double compute(std::chrono::microseconds of_cpu) {
  const int rounds = static_cast<int>(of_cpu.count()) * 60;
  double sum = 0;
  for (int i = 1; i < rounds; ++i) sum += std::sqrt(sum + i);
  return sum;
}

int main() {
  std::mutex model;
  std::atomic<long> pages{0};
  std::atomic<double> kept{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([&] {
      for (;;) {
        const double text = compute(std::chrono::microseconds(300));
        const std::lock_guard<std::mutex> lock(model);
        kept = text + compute(std::chrono::microseconds(5000));
        ++pages;
      }
    });
  }
  long seen = 0;
  for (auto last = Clock::now();;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    const auto now = Clock::now();
    const long count = pages;
    std::printf("speed %.2f pages/s\n", static_cast<double>(count - seen) /
                                            std::chrono::duration<double>(now - last).count());
    std::fflush(stdout);
    seen = count;
    last = now;
  }
}
