// A process's sockets are joined with the listening rows of its network namespace by their inodes.
// HTTP is spoken without a client library: the port belongs to an unknown program, and its first
// five bytes are enough.
#include "trial/proc/listening_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr timeval kPatience = {1, 0};     // to connect, to ask, and for the answer
constexpr const char* kListening = "0A";  // TCP_LISTEN, as /proc/net/tcp has it

// Inodes of the sockets that a process holds.
void add_sockets(int pid, std::set<std::string>& inodes) {
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  const auto names = list_directory(folder);
  if (!names) return;
  for (const std::string& name : *names) {
    char target[64];
    const ssize_t size = ::readlink(join_path(folder, name).c_str(), target, sizeof target);
    const std::string_view text(target, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    const std::string_view head = "socket:[";
    if (text.substr(0, head.size()) != head) continue;
    inodes.emplace(text.substr(head.size(), text.size() - head.size() - 1));
  }
}

// The listening sockets in the network namespace of a process: their ports by inode.
std::map<std::string, int> listening_sockets(int pid) {
  std::map<std::string, int> found;
  for (const char* table : {"tcp", "tcp6"}) {
    const auto text = read_file(fmt::format("/proc/{}/net/{}", pid, table));
    if (!text) continue;
    for (const std::string& line : split(*text, '\n')) {
      // sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
      const auto columns = words(line);
      if (columns.size() < 10 || columns[3] != kListening) continue;
      const std::size_t colon = columns[1].find(':');
      if (colon == std::string::npos) continue;
      // The address and the port are in hexadecimal.
      found[columns[9]] =
          static_cast<int>(std::strtol(columns[1].c_str() + colon + 1, nullptr, 16));
    }
  }
  return found;
}

// The first bytes of whatever the port says to a request for the root; loopback needs no proxy.
bool answers_http(int port) {
  const Descriptor peer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  // A server that listens on another address alone is not reached, and counts as none.
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const auto* place = reinterpret_cast<const sockaddr*>(&address);
  for (const int way : {SO_SNDTIMEO, SO_RCVTIMEO}) {  // a full backlog takes no connection
    ::setsockopt(peer.number, SOL_SOCKET, way, &kPatience, sizeof kPatience);
  }
  if (!peer.is_open() || ::connect(peer.number, place, sizeof address) != 0) return false;
  constexpr std::string_view kRequest = "GET / HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n";
  constexpr std::string_view kAnswer = "HTTP/";
  if (::send(peer.number, kRequest.data(), kRequest.size(), MSG_NOSIGNAL) < 0) return false;
  char begin[kAnswer.size()];
  return ::recv(peer.number, begin, sizeof begin, MSG_WAITALL) == sizeof begin &&
         std::string_view(begin, sizeof begin) == kAnswer;
}

}  // namespace

std::vector<int> listening_ports(const std::vector<ProcessFacts>& members) {
  std::set<int> ports;
  for (const ProcessFacts& member : members) {
    // Each process may be in a network namespace of its own, so its own table is read.
    std::set<std::string> inodes;
    add_sockets(member.pid, inodes);
    if (inodes.empty()) continue;
    for (const auto& [inode, port] : listening_sockets(member.pid)) {
      if (inodes.contains(inode)) ports.insert(port);
    }
  }
  return {ports.begin(), ports.end()};
}

int http_port(const std::vector<ProcessFacts>& members) {
  const std::vector<int> ports = listening_ports(members);
  const auto found = std::find_if(ports.begin(), ports.end(), answers_http);
  return found == ports.end() ? 0 : *found;
}

RunningServer::RunningServer(int port) {
  if (port <= 0) return;
  std::map<std::string, int> sockets = listening_sockets(::getpid());
  std::erase_if(sockets, [&](const auto& one) { return one.second != port; });
  if (sockets.empty()) return;
  for (const ProcessFacts& process : all_processes()) {
    std::set<std::string> inodes;
    add_sockets(process.pid, inodes);
    const bool listens =
        std::ranges::any_of(sockets, [&](const auto& one) { return inodes.contains(one.first); });
    if (listens) listeners_.emplace(process.pid, process.start_ticks);
  }
}

std::vector<ProcessFacts> RunningServer::members() const {
  std::vector<ProcessFacts> found;
  if (listeners_.empty()) return found;
  const std::vector<ProcessFacts> all = all_processes();
  std::multimap<int, const ProcessFacts*> children;
  for (const ProcessFacts& process : all) children.emplace(process.parent, &process);
  std::set<int> taken = {::getpid()};
  const auto take = [&](const ProcessFacts& process) {
    if (taken.insert(process.pid).second) found.push_back(process);
  };
  for (const ProcessFacts& process : all) {
    if (listeners_.contains({process.pid, process.start_ticks})) take(process);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [from, to] = children.equal_range(found[i].pid);
    for (auto child = from; child != to; ++child) take(*child->second);
  }
  return found;
}

}  // namespace ocrtune
