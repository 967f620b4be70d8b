// The address of a server: where it is, and whether somebody listens there.
//
// Who listens is asked of the kernel, never of a proxy: an address is taken when it cannot be
// bound, or, where it is another machine's, when it takes a connection. Source: ip(7).
#pragma once

#include <string>
#include <string_view>

namespace ocrtune {

struct UrlPlace {
  std::string host;  // without the brackets of an IPv6 address
  int port = 0;      // 80 or 443 where the URL has none; 0: it is no port
};
UrlPlace url_place(std::string_view url);

std::string url_path(
    std::string_view url);  // "/ocr", without what stands behind a '?'; at least "/"

// `path` at the server of `server_url`, where it begins with "/"; else it is an address itself.
std::string at_server(const std::string& path, const std::string& server_url);

// Loopback, private and link-local addresses, names without a dot, .local, .internal and .lan: what
// http_proxy and https_proxy do not count for. Other hosts are asked through the proxy.
bool is_nearby_url(std::string_view url);

// A nearby URL, or one whose name has nearby addresses alone. Asks the resolver.
bool is_private_url(const std::string& url);

// The port of a URL of this machine; 0: it is another one's, or nobody can tell.
int port_here(const std::string& url);

// Whether a program takes connections at the address of `url`, HTTP or not.
bool is_listened_at(const std::string& url);

}  // namespace ocrtune
