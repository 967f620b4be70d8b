// 8 threads share one model behind a std::mutex: 5 ms under it, 0.3 ms beside it for each page.
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>
#include <vector>

#include "pace.h"

double compute(std::chrono::microseconds of_cpu) {
  const int rounds = static_cast<int>(of_cpu.count()) * 60;
  double sum = 0;
  for (int i = 1; i < rounds; ++i) sum += std::sqrt(sum + i);
  return sum;
}

int main() {
  std::mutex model;
  Count pages{0};
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
  report(&pages);
}
