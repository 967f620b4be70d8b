// Three questions on an address: where it is, whether a proxy may stand between, and whether it is
// taken. An own address is bound for a moment; what cannot be bound is connected to.
#include "trial/workloads/service/server_address.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr int kConnectMilliseconds = 2000;

bool takes_connections(const addrinfo& address) {
  const int peer = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (peer < 0) return false;
  // Without blocking: a full backlog leaves a connection pending for minutes.
  bool taken = ::connect(peer, address.ai_addr, address.ai_addrlen) == 0;
  if (!taken && errno == EINPROGRESS) {
    pollfd ready{peer, POLLOUT, 0};
    int error = 0;
    socklen_t size = sizeof error;
    taken = ::poll(&ready, 1, kConnectMilliseconds) == 1 &&
            ::getsockopt(peer, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  }
  ::close(peer);
  return taken;
}

// Of this machine's own addresses binding shows it, and nobody who listens is disturbed. A port
// that this user may not bind, and another machine's address, are connected to.
bool is_taken(const addrinfo& address) {
  const int own = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (own < 0) return false;
  const int again = 1;  // connections of the last server that linger are nobody who listens
  ::setsockopt(own, SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
  const bool bound = ::bind(own, address.ai_addr, address.ai_addrlen) == 0;
  const bool in_use = !bound && errno == EADDRINUSE;
  ::close(own);
  return in_use || (!bound && takes_connections(address));
}

// With port 0: an address of this machine can be bound.
bool is_own(const addrinfo& address) {
  const int own = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (own < 0) return false;
  const bool bound = ::bind(own, address.ai_addr, address.ai_addrlen) == 0;
  ::close(own);
  return bound;
}

bool any_address(const std::string& host, int port, bool (*is)(const addrinfo&)) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), fmt::format("{}", port).c_str(), &wanted, &found) != 0) {
    return false;
  }
  bool any = false;
  for (const addrinfo* one = found; one != nullptr && !any; one = one->ai_next) any = is(*one);
  ::freeaddrinfo(found);
  return any;
}

}  // namespace

UrlPlace url_place(std::string_view url) {
  UrlPlace place;
  place.port = starts_with(lower(url.substr(0, 8)), "https://") ? 443 : 80;
  if (const std::size_t scheme = url.find("://"); scheme != std::string_view::npos) {
    url.remove_prefix(scheme + 3);
  }
  url = url.substr(0, url.find_first_of("/?#"));
  // "user:password@host": the last '@' parts them.
  if (const std::size_t user = url.rfind('@'); user != std::string_view::npos) {
    url.remove_prefix(user + 1);
  }
  const bool bracket = starts_with(url, "[");
  const std::size_t end = bracket ? url.find(']') : url.find(':');
  place.host = std::string(url.substr(bracket ? 1 : 0, bracket ? end - 1 : end));
  const std::size_t colon = end == std::string_view::npos ? end : url.find(':', bracket ? end : 0);
  if (colon == std::string_view::npos) return place;
  const auto port = parse_integer(url.substr(colon + 1));
  place.port = port && *port > 0 && *port < 65536 ? static_cast<int>(*port) : 0;
  return place;
}

std::string url_path(std::string_view url) {
  if (const std::size_t scheme = url.find("://"); scheme != std::string_view::npos) {
    url.remove_prefix(scheme + 3);
  }
  const std::size_t slash = url.find('/');
  if (slash == std::string_view::npos) return "/";
  return std::string(url.substr(slash, url.find_first_of("?#") - slash));
}

std::string at_server(const std::string& path, const std::string& server_url) {
  if (!starts_with(path, "/")) return path;
  const std::size_t scheme = server_url.find("://");
  const std::size_t host = scheme == std::string::npos ? 0 : scheme + 3;
  return server_url.substr(0, server_url.find_first_of("/?#", host)) + path;
}

bool is_nearby_url(std::string_view url) {
  const std::string host = lower(url_place(url).host);
  if (host.find(':') != std::string::npos) {  // IPv6: loopback, unique local, link local
    return host == "::1" || starts_with(host, "fc") || starts_with(host, "fd") ||
           starts_with(host, "fe80:");
  }
  const std::vector<std::string> parts = split(host, '.');
  if (parts.size() == 1) return true;  // localhost, a service of this network
  for (const char* end : {".localhost", ".local", ".internal", ".lan"}) {
    if (ends_with(host, end)) return true;
  }
  std::vector<std::int64_t> bytes;
  for (const std::string& part : parts) {
    const auto number = parse_integer(part);
    if (!number) return false;
    bytes.push_back(*number);
  }
  return bytes.size() == 4 &&
         (bytes[0] == 127 || bytes[0] == 10 || (bytes[0] == 192 && bytes[1] == 168) ||
          (bytes[0] == 172 && bytes[1] >= 16 && bytes[1] < 32) ||
          (bytes[0] == 169 && bytes[1] == 254));
}

bool is_private_url(const std::string& url) {
  if (is_nearby_url(url)) return true;
  addrinfo* found = nullptr;
  if (::getaddrinfo(url_place(url).host.c_str(), nullptr, nullptr, &found) != 0) return false;
  bool all = found != nullptr;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    char text[NI_MAXHOST];
    all = all &&
          ::getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof text, nullptr, 0,
                        NI_NUMERICHOST) == 0 &&
          is_nearby_url(std::string("[") + text + "]");
  }
  ::freeaddrinfo(found);
  return all;
}

int port_here(const std::string& url) {
  const UrlPlace place = url_place(url);
  return any_address(place.host, 0, is_own) ? place.port : 0;
}

bool is_listened_at(const std::string& url) {
  const UrlPlace place = url_place(url);
  return place.port != 0 && any_address(place.host, place.port, is_taken);
}

}  // namespace ocrtune
