#include "trial/proc/listening_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

// On a free port of the loopback.
struct Listener {
  explicit Listener(int backlog) {
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket.number, place(), size), 0);
    EXPECT_EQ(::listen(socket.number, backlog), 0);
    EXPECT_EQ(::getsockname(socket.number, reinterpret_cast<sockaddr*>(&address), &size), 0);
  }
  const sockaddr* place() const { return reinterpret_cast<const sockaddr*>(&address); }
  int port() const { return ntohs(address.sin_port); }

  Descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
};

// A connection beyond the backlog stays unanswered; the kernel asks again for two minutes.
TEST(ListeningPorts, ABacklogThatIsFullSpeaksNoHttp) {
  const Listener server(0);
  std::vector<Descriptor> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ::connect(waiting.back().number, server.place(), sizeof server.address);
  }
  ProcessFacts self;
  self.pid = ::getpid();
  EXPECT_EQ(listening_ports({self}), std::vector<int>{server.port()});
  EXPECT_EQ(http_port({self}), 0);
}

// A server and its worker, which holds no socket, beside the process that asks.
TEST(RunningServer, IsWhoListensAndWhatDescendsFromIt) {
  const Listener server(1);
  const int port = server.port();
  EXPECT_TRUE(RunningServer(port).members().empty()) << "this process is none of it";
  const pid_t listens = ::fork();
  if (listens == 0) {
    const pid_t works = ::fork();
    if (works == 0) ::close(server.socket.number);
    for (;;) ::pause();
  }
  std::vector<ProcessFacts> found;
  for (int i = 0; i < 1000 && found.size() < 2; ++i) {
    ::usleep(10000);
    found = RunningServer(port).members();
  }
  EXPECT_EQ(found.size(), 2U);
  if (found.size() == 2) {
    EXPECT_EQ(found[0].pid, listens);
    EXPECT_EQ(found[1].parent, listens);
    ::kill(found[1].pid, SIGKILL);
  }
  EXPECT_TRUE(RunningServer().members().empty());
  ::kill(listens, SIGKILL);
  ::waitpid(listens, nullptr, 0);
}

}  // namespace
}  // namespace ocrtune
