// Two threads: each asks a service outside (--port, 25 ms), then computes for about as long.
// Neither is the one stage.
#include <arpa/inet.h>
#include <sys/socket.h>

#include <cmath>
#include <thread>
#include <vector>

#include "pace.h"

int main(int argc, char** argv) {
  const int port = flag(argc, argv, "--port", 0);
  Count pages{0};
  std::atomic<double> kept{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      const int host = ::socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(static_cast<unsigned short>(port));
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      if (::connect(host, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::exit(1);
      for (;;) {
        char answer[64];
        if (::write(host, "page\n", 5) != 5 || ::read(host, answer, sizeof answer) <= 0)
          std::exit(1);
        double sum = 0;
        timespec begin{}, now{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        do {
          for (int k = 1; k < 50000; ++k) sum += std::sqrt(sum + k);
          ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        } while ((now.tv_sec - begin.tv_sec) * 1e3 + (now.tv_nsec - begin.tv_nsec) * 1e-6 < 25);
        kept = sum;
        ++pages;
      }
    });
  }
  report(&pages);
}
