// Addresses by getifaddrs(3), speeds by ioctl, traffic by the counters of /proc/net/dev. IPv4 only.
#include "probes/host/nics.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <sstream>

#include <fmt/format.h>
#include <net/if.h>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

std::string address_text(const in_addr& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &address, text.data(), text.size());
  return text.data();
}

const in_addr& ipv4(const sockaddr* address) {
  return reinterpret_cast<const sockaddr_in*>(address)->sin_addr;  // NOLINT: the interface's way
}

// MTU, speed and driver by the calls that ip and ethtool use: /sys may be another namespace's.
void ask_driver(int socket, Nic& nic) {
  ifreq request{};
  nic.name.copy(request.ifr_name, IFNAMSIZ - 1);
  if (::ioctl(socket, SIOCGIFMTU, &request) == 0) nic.mtu = request.ifr_mtu;
  ethtool_cmd command{};
  command.cmd = ETHTOOL_GSET;
  request.ifr_data = reinterpret_cast<char*>(&command);  // NOLINT: the interface's way
  if (::ioctl(socket, SIOCETHTOOL, &request) == 0) {
    const std::uint32_t speed = ethtool_cmd_speed(&command);
    // Above it the value is SPEED_UNKNOWN, -1, of a link that is down or virtual.
    if (speed < 10'000'000) nic.speed_mbit = static_cast<int>(speed);
  }
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  request.ifr_data = reinterpret_cast<char*>(&driver);  // NOLINT: the interface's way
  if (::ioctl(socket, SIOCETHTOOL, &request) == 0) {
    nic.driver.assign(driver.driver, ::strnlen(driver.driver, sizeof driver.driver));
  }
}

}  // namespace

std::string Nic::network() const {
  in_addr parsed{};
  ::inet_pton(AF_INET, address.c_str(), &parsed);
  const std::uint32_t mask = prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix);
  parsed.s_addr = htonl(ntohl(parsed.s_addr) & mask);
  return fmt::format("{}/{}", address_text(parsed), prefix);
}

bool Nic::only_of_this_host() const {
  for (const char* prefix_of_name : {"docker", "br-", "virbr", "veth", "cni", "lxc", "podman"}) {
    if (starts_with(name, prefix_of_name)) return true;
  }
  return false;
}

std::vector<Nic> read_nics() {
  std::vector<Nic> nics;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return nics;
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & IFF_LOOPBACK) != 0 || (one->ifa_flags & IFF_UP) == 0) continue;
    Nic nic;
    nic.name = one->ifa_name;
    nic.address = address_text(ipv4(one->ifa_addr));
    if (one->ifa_netmask != nullptr) nic.prefix = std::popcount(ipv4(one->ifa_netmask).s_addr);
    if (socket >= 0) ask_driver(socket, nic);
    nics.push_back(std::move(nic));
  }
  if (socket >= 0) ::close(socket);
  ::freeifaddrs(list);
  return nics;
}

std::map<std::string, std::string> resolve_names(const std::vector<std::string>& names) {
  std::map<std::string, std::string> addresses;
  for (const std::string& name : names) {
    addrinfo wanted{};
    wanted.ai_family = AF_INET;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const bool known = ::getaddrinfo(name.c_str(), nullptr, &wanted, &found) == 0;
    addresses[name] = known ? address_text(ipv4(found->ai_addr)) : "";
    if (known) ::freeaddrinfo(found);
  }
  return addresses;
}

std::map<std::string, double> parse_nic_bytes(const std::string& text) {
  constexpr std::size_t kReceived = 0, kSent = 8;  // columns behind the name
  std::map<std::string, double> bytes;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;  // the two headers
    const std::string name(trim(line.substr(0, colon)));
    std::istringstream columns(line.substr(colon + 1));
    const std::vector<double> numbers{std::istream_iterator<double>(columns), {}};
    if (name == "lo" || numbers.size() <= kSent) continue;
    bytes[name] = std::max(numbers[kReceived], numbers[kSent]);
  }
  return bytes;
}

std::map<std::string, double> read_nic_bytes() {
  // RDMA moves data past these counters.
  static const bool kUnseen = !list_directory("/sys/class/infiniband").value_or({}).empty();
  if (kUnseen) return {};
  return parse_nic_bytes(read_file("/proc/net/dev").value_or(""));
}

namespace {

std::set<std::string> links_up() {
  std::set<std::string> names;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return names;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    const bool loopback = (one->ifa_flags & IFF_LOOPBACK) != 0;
    if ((one->ifa_flags & IFF_RUNNING) != 0 && !loopback) names.insert(one->ifa_name);
  }
  ::freeifaddrs(first);
  return names;
}

}  // namespace

LinkWatch::LinkWatch() : up_(links_up()) {}

std::vector<std::string> LinkWatch::down() const {
  const auto now = links_up();
  std::vector<std::string> lost;
  std::set_difference(up_.begin(), up_.end(), now.begin(), now.end(), std::back_inserter(lost));
  return lost;
}

void NicMeter::look(double now) {
  constexpr double kEverySeconds = 0.2;
  constexpr std::size_t kMost = 3000;  // ten minutes
  if (!seen_.empty() && now < seen_.back().first + kEverySeconds) return;
  seen_.emplace_back(now, read_nic_bytes());
  if (seen_.size() > kMost) seen_.pop_front();
}

double NicMeter::bytes_per_second(double seconds) const {
  if (seen_.size() < 2) return 0;
  const auto& [end, last] = seen_.back();
  // The last look itself fits, so there is always one.
  const auto first = std::find_if(seen_.begin(), seen_.end(), [&](const auto& one) {
    return one.first >= seen_.back().first - seconds;
  });
  if (first->first >= end) return 0;
  double most = 0;
  for (const auto& [name, bytes] : last) {
    const auto before = first->second.find(name);
    if (before != first->second.end()) most = std::max(most, bytes - before->second);
  }
  return most / (end - first->first);
}

bool is_address(const std::string& name) {
  in6_addr any{};
  return ::inet_pton(AF_INET, name.c_str(), &any) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), &any) == 1;
}

bool is_loopback(const std::string& address) { return starts_with(address, "127."); }

}  // namespace ocrtune
