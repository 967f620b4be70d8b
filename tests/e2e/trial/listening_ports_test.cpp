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

// A server and its worker, which holds no socket, beside whoever asks.
TEST(RunningServer, IsWhoListensAndWhatDescendsFromIt) {
  const Descriptor server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const place = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(server.number, place, size), 0);
  ASSERT_EQ(::listen(server.number, 1), 0);
  ASSERT_EQ(::getsockname(server.number, place, &size), 0);
  const int port = ntohs(address.sin_port);
  EXPECT_TRUE(RunningServer(port).members().empty()) << "this process is none of it";
  const pid_t listens = ::fork();
  if (listens == 0) {
    const pid_t works = ::fork();
    if (works == 0) ::close(server.number);
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
