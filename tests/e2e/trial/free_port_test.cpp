#include "trial/free_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

// Ports at which somebody listens at another address than 127.0.0.1: some of those that the kernel
// gives, so that one of many questions would meet one.
TEST(FreePort, NobodyListensThereAtAnyAddress) {
  std::vector<int> sockets;
  std::set<int> taken;
  for (int i = 0; i < 800; ++i) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) break;
    sockets.push_back(socket);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::inet_addr("127.0.0.2");
    socklen_t size = sizeof address;
    ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(::listen(socket, 1), 0);
    ASSERT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
    taken.insert(ntohs(address.sin_port));
  }
  ASSERT_GT(taken.size(), 400U);
  for (int i = 0; i < 1000; ++i) {
    const int port = free_port();
    ASSERT_GT(port, 0);
    ASSERT_FALSE(taken.contains(port)) << port;
  }
  for (const int socket : sockets) ::close(socket);
}

}  // namespace
}  // namespace ocrtune
