// Each page gets new images of 16 and 48 MB, which go back to the system at its end.
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

int main() {
  using Clock = std::chrono::steady_clock;
  int count = 0;
  unsigned long sum = 0;
  for (auto last = Clock::now();;) {
    std::vector<unsigned char> grey(16 << 20, static_cast<unsigned char>(count));
    const std::unique_ptr<unsigned char[]> colour(new unsigned char[48 << 20]);
    for (std::size_t i = 0; i < (48u << 20); i += 1024) colour[i] = grey[i / 3];
    for (std::size_t i = 0; i < (48u << 20); i += 65536) sum += colour[i];
    ++count;
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - last).count();
    if (seconds < 0.3) continue;
    std::printf("speed %.2f pages/s (%lu)\n", count / seconds, sum % 7);
    std::fflush(stdout);
    count = 0;
    last = now;
  }
}
