#include "trial/proc/listening_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

// A connection beyond the backlog stays unanswered; the kernel asks again for two minutes.
TEST(ListeningPorts, ABacklogThatIsFullSpeaksNoHttp) {
  const Descriptor server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const place = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(server.number, place, size), 0);
  ASSERT_EQ(::listen(server.number, 0), 0);
  ASSERT_EQ(::getsockname(server.number, place, &size), 0);
  std::vector<Descriptor> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ::connect(waiting.back().number, place, size);
  }
  ProcessFacts self;
  self.pid = ::getpid();
  EXPECT_EQ(listening_ports({self}), std::vector<int>{ntohs(address.sin_port)});
  EXPECT_EQ(http_port({self}), 0);
}

}  // namespace
}  // namespace ocrtune
