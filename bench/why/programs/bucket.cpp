// Three threads draw from a bucket of 60 pages a second and read each in 2 ms.
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>
#include <vector>

#include "pace.h"

using Clock = std::chrono::steady_clock;

class Bucket {
 public:
  Clock::time_point next() {
    const std::lock_guard<std::mutex> lock(mutex_);
    at_ = std::max(at_, Clock::now()) + std::chrono::microseconds(16667);
    return at_;
  }

 private:
  std::mutex mutex_;
  Clock::time_point at_ = Clock::now();
};

int main() {
  Bucket bucket;
  Count pages{0};
  std::atomic<double> kept{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      for (;;) {
        std::this_thread::sleep_until(bucket.next());
        double sum = 0;
        for (int k = 1; k < 120000; ++k) sum += std::sqrt(sum + k);
        kept = sum;
        ++pages;
      }
    });
  }
  report(&pages);
}
