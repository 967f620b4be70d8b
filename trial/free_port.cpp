// The kernel gives a free port to a bind() to port 0 (ip(7), ip_local_port_range); the socket is
// closed at once. Between that and the service's own bind() another program may take the port.
#include "trial/free_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ocrtune {

namespace {

// At all addresses at once, so that no program listens there at any of them. 0: refused.
int free_port(int family, const sockaddr* any, socklen_t size) {
  const int socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return 0;
  const int both = 0;  // IPv6 and IPv4
  if (family == AF_INET6) ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof both);
  sockaddr_storage taken{};
  socklen_t taken_size = sizeof taken;
  int port = 0;
  if (::bind(socket, any, size) == 0 &&
      ::getsockname(socket, reinterpret_cast<sockaddr*>(&taken), &taken_size) == 0) {
    port = ntohs(family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&taken)->sin6_port
                                    : reinterpret_cast<sockaddr_in*>(&taken)->sin_port);
  }
  ::close(socket);
  return port;
}

}  // namespace

int free_port() {
  sockaddr_in6 all{};
  all.sin6_family = AF_INET6;
  const int port = free_port(AF_INET6, reinterpret_cast<const sockaddr*>(&all), sizeof all);
  if (port != 0) return port;
  sockaddr_in four{};  // a machine without IPv6
  four.sin_family = AF_INET;
  return free_port(AF_INET, reinterpret_cast<const sockaddr*>(&four), sizeof four);
}

}  // namespace ocrtune
