// Plain sockets with time limits on every call. The sender sends until the receiver hangs up, so
// the clock and the count are on one side.
#include "extras/hosts/pair_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/stats.h"

namespace ocrtune {
namespace {

constexpr int kPings = 21;
constexpr double kSlowStartShare = 0.2;  // of the time, before bytes count
constexpr std::size_t kBlockBytes = 256 << 10;

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

Result<sockaddr_in> address_of(const std::string& text, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::inet_pton(AF_INET, text.c_str(), &address.sin_addr) == 1) return address;
  return Error{ErrorKind::invalid, "'" + text + "' is no IPv4 address"};
}

const sockaddr* plain(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);  // NOLINT: the interface's way
}

// A peer that falls silent ends every call on the connection.
void set_limits(int socket) {
  const timeval limit{static_cast<time_t>(kPairConnectSeconds), 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

bool wait_for(int socket, short events, double seconds) {
  pollfd polled{socket, events, 0};
  return ::poll(&polled, 1, static_cast<int>(std::ceil(1000 * seconds))) > 0;
}

bool send_all(int socket, const char* bytes, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t put = ::send(socket, bytes + done, size - done, MSG_NOSIGNAL);
    if (put <= 0) return false;
    done += static_cast<std::size_t>(put);
  }
  return true;
}

bool receive_all(int socket, char* bytes, std::size_t size) {
  return ::recv(socket, bytes, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

bool answer_pings(int socket) {
  char ping = 0;
  for (int i = 0; i < kPings; ++i) {
    if (!receive_all(socket, &ping, 1) || !send_all(socket, &ping, 1)) return false;
  }
  return true;
}

double count_bytes(int socket, double seconds) {
  std::vector<char> block(kBlockBytes);
  const double start = steady_seconds(), counting = start + kSlowStartShare * seconds;
  double bytes = 0, last = counting;
  while (steady_seconds() < start + seconds) {
    if (!wait_for(socket, POLLIN, start + seconds - steady_seconds())) break;
    const ssize_t got = ::recv(socket, block.data(), block.size(), 0);
    if (got <= 0) break;
    // TCP's slow start is left out of the rate.
    if (steady_seconds() < counting) continue;
    bytes += static_cast<double>(got);
    last = steady_seconds();
  }
  return last > counting ? bytes / (last - counting) : 0;
}

Status connect_within(int socket, const sockaddr_in& to, const std::string& name) {
  // connect() itself takes no time limit; the socket blocks again once it is connected.
  ::fcntl(socket, F_SETFL, O_NONBLOCK);
  if (::connect(socket, plain(to), sizeof to) != 0) {
    if (errno != EINPROGRESS) return system_error(errno, "connect to " + name);
    if (!wait_for(socket, POLLOUT, kPairConnectSeconds)) {
      return system_error(ETIMEDOUT, "connect to " + name);
    }
    int code = 0;
    socklen_t size = sizeof code;
    ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size);
    if (code != 0) return system_error(code, "connect to " + name);
  }
  ::fcntl(socket, F_SETFL, 0);
  return Status();
}

}  // namespace

Result<PairListener> PairListener::open(const std::string& address) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return system_error(errno, "open a socket");
  sockaddr_in bound = OCRTUNE_TRY(address_of(address, 0));
  socklen_t size = sizeof bound;
  if (::bind(socket.get(), plain(bound), size) != 0 || ::listen(socket.get(), 4) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {  // NOLINT
    return system_error(errno, "listen on " + address);
  }
  return PairListener(socket.release(), ntohs(bound.sin_port));
}

PairListener::PairListener(PairListener&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), port_(other.port_) {}

PairListener::~PairListener() {
  if (socket_ >= 0) ::close(socket_);
}

Result<double> PairListener::receive(const std::string& token, double seconds) {
  const double end = steady_seconds() + 2 * kPairConnectSeconds;
  while (steady_seconds() < end && wait_for(socket_, POLLIN, end - steady_seconds())) {
    const Socket peer(::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC));
    if (peer.get() < 0) continue;
    set_limits(peer.get());
    std::string said(token.size(), '\0');
    // Some other program's connection, such as a port scan.
    if (!receive_all(peer.get(), said.data(), said.size()) || said != token) continue;
    if (!answer_pings(peer.get())) return Error{ErrorKind::failed, "the connection broke"};
    return count_bytes(peer.get(), seconds);
  }
  return Error{ErrorKind::failed, "nobody connected"};
}

Result<double> send_pair(const std::string& from, const std::string& to, int port,
                         const std::string& token, double seconds) {
  const Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return system_error(errno, "open a socket");
  set_limits(socket.get());
  // The sender's own address on that network; none leaves the choice to the routing.
  const sockaddr_in own = OCRTUNE_TRY(address_of(from.empty() ? "0.0.0.0" : from, 0));
  const sockaddr_in peer = OCRTUNE_TRY(address_of(to, port));
  if (::bind(socket.get(), plain(own), sizeof own) != 0) {
    return system_error(errno, "send from " + from);
  }
  OCRTUNE_TRY(connect_within(socket.get(), peer, to));
  if (!send_all(socket.get(), token.data(), token.size())) {
    return system_error(errno, "send to " + to);
  }
  std::vector<double> trips;
  char ping = 'p';
  for (int i = 0; i < kPings; ++i) {
    const double start = steady_seconds();
    if (!send_all(socket.get(), &ping, 1) || !receive_all(socket.get(), &ping, 1)) {
      return system_error(errno == 0 ? ECONNRESET : errno, "ping " + to);
    }
    trips.push_back(steady_seconds() - start);
  }
  // The receiver hangs up when it has counted enough.
  const std::vector<char> block(kBlockBytes);
  const double end = steady_seconds() + seconds + kPairConnectSeconds;
  while (steady_seconds() < end && send_all(socket.get(), block.data(), block.size())) {
  }
  return median(trips) / 2;
}

}  // namespace ocrtune
