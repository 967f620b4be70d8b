// A reader makes pages (8 ms each); --threads threads ask an empty queue for them without rest,
// giving up their CPU between.
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "pace.h"

int main(int argc, char** argv) {
  const int threads = flag(argc, argv, "--threads", 1);
  std::atomic<int> ready{0};
  Count taken{0};
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
  for (;;) {
    double sum = 0;
    for (int i = 1; i < 500000; ++i) sum += std::sqrt(sum + i);
    kept = sum;
    ++ready;
    const long count = taken;
    done(static_cast<int>(count - seen));
    seen = count;
  }
}
