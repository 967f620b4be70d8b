// Network interfaces of this host, as the kernel describes them.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ocrtune {

// One IPv4 address of an interface that is up; loopback is left out.
struct Nic {
  std::string name;     // "eth0"
  std::string address;  // "10.77.0.1"
  int prefix = 0;       // 24
  int mtu = 0;
  int speed_mbit = 0;  // as negotiated; 0: the driver does not say
  std::string driver;  // "ixgbe", "veth", "bridge"; "" unknown

  std::string network() const;     // "10.77.0.0/24"
  bool only_of_this_host() const;  // a bridge of docker or libvirt, or alike
};

std::vector<Nic> read_nics();

// Bytes so far, the larger of both directions, of each interface but loopback: /proc/net/dev. Empty
// where a fabric past the kernel's network (InfiniBand, RoCE) may carry more than these.
std::map<std::string, double> read_nic_bytes();
std::map<std::string, double> parse_nic_bytes(const std::string& text);

// Those that were up once and are not, or have lost their cable, since this object was made.
class LinkWatch {
 public:
  LinkWatch();
  std::vector<std::string> down() const;

 private:
  std::set<std::string> up_;
};

// How much a job moves while it is measured, from this host's view. No thread: look() comes often.
class NicMeter {
 public:
  void look(double now);
  // Of the busiest interface over the last `seconds`, as far as it was looked at; 0: unknown.
  double bytes_per_second(double seconds) const;

 private:
  std::deque<std::pair<double, std::map<std::string, double>>> seen_;  // when, bytes
};

// What each name resolves to here, IPv4; "" where it does not. The system's resolver, and so as
// slow as it is.
std::map<std::string, std::string> resolve_names(const std::vector<std::string>& names);

bool is_address(const std::string& name);  // IPv4 or IPv6 in figures
// 127.0.0.0/8: of no use to another host.
bool is_loopback(const std::string& address);

}  // namespace ocrtune
