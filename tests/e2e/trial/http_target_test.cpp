#include "trial/workloads/service/http_target.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trial/workloads/service/load_generator.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

// A server on loopback that answers every request alike, or resets the connection.
class LoopbackServer {
 public:
  explicit LoopbackServer(std::string answer) : answer_(std::move(answer)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_, 256);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    accepting_ = std::thread([this] { accept_all(); });
  }
  ~LoopbackServer() {
    ::shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    for (std::thread& one : serving_) one.join();
    ::close(listener_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/ocr"; }
  std::string last_request() const { return last_; }
  std::atomic<int> requests{0};

 private:
  void accept_all() {
    for (int peer = 0; (peer = ::accept(listener_, nullptr, nullptr)) >= 0;) {
      serving_.emplace_back([this, peer] { serve(peer); });
    }
  }
  void serve(int peer) {
    std::string text;
    std::array<char, 4096> block{};
    for (ssize_t got = 0; (got = ::read(peer, block.data(), block.size())) > 0;) {
      text.append(block.data(), static_cast<std::size_t>(got));
      const std::size_t head = text.find("\r\n\r\n");
      if (head == std::string::npos) continue;
      const std::size_t length = text.find("Content-Length: ");
      const std::size_t body = length < head ? std::stoul(text.substr(length + 16)) : 0;
      if (text.size() < head + 4 + body) continue;
      if (requests++ == 0) last_ = text;
      text.clear();
      if (answer_.empty()) break;
      if (::write(peer, answer_.data(), answer_.size()) < 0) break;
    }
    ::close(peer);
  }

  std::string answer_, last_;
  int listener_ = -1;
  int port_ = 0;
  std::thread accepting_;
  std::vector<std::thread> serving_;
};

bool no_client() {
  const auto target = make_http_target({"http://127.0.0.1:1/", {}, 1, 1});
  return !target.ok() && target.error().kind == ErrorKind::unsupported;
}

#define SKIP_WITHOUT_CLIENT() \
  if (no_client()) GTEST_SKIP() << "built without libcurl"

constexpr const char* kFine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

TEST(HttpTarget, PostsBodiesAndCountsAnswers) {
  SKIP_WITHOUT_CLIENT();
  LoopbackServer server(kFine);
  auto target = make_http_target({server.url(), {{"image/png", "PNGBYTES"}}, 10, 4});
  ASSERT_TRUE(target.ok()) << target.error().what;
  LoadPlan plan;
  plan.max_requests = 200;
  const LoadResult result = run_load(**target, steady_clock(), Arrivals::poisson(2000, 1), plan);
  EXPECT_EQ(result.completed, 200);
  EXPECT_EQ(result.failed, 0);
  EXPECT_EQ(server.requests, 201);  // and the first one
  target->reset();
  EXPECT_THAT(server.last_request(), testing::StartsWith("POST /ocr HTTP/1.1"));
  EXPECT_THAT(server.last_request(), HasSubstr("Content-Type: image/png"));
  EXPECT_THAT(server.last_request(), testing::EndsWith("PNGBYTES"));
}

TEST(HttpTarget, AnErrorStatusIsAFailure) {
  SKIP_WITHOUT_CLIENT();
  LoopbackServer server("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
  const auto target = make_http_target({server.url(), {}, 10, 4});
  ASSERT_FALSE(target.ok());
  EXPECT_THAT(target.error().what, HasSubstr("answers HTTP 503"));
}

TEST(HttpTarget, AResetConnectionIsAFailureWithItsReason) {
  SKIP_WITHOUT_CLIENT();
  LoopbackServer server("");
  const auto target = make_http_target({server.url(), {}, 10, 4});
  ASSERT_FALSE(target.ok());
  EXPECT_EQ(target.error().kind, ErrorKind::failed);
  EXPECT_THAT(target.error().what, HasSubstr(server.url()));
}

TEST(HttpTarget, ARefusedConnectionIsOneClearLine) {
  SKIP_WITHOUT_CLIENT();
  std::string url;
  {
    LoopbackServer server(kFine);
    url = server.url();
  }
  const auto target = make_http_target({url, {}, 10, 4});
  ASSERT_FALSE(target.ok());
  EXPECT_THAT(target.error().what, HasSubstr("connect"));
}

TEST(HttpTarget, RefusesOtherAddresses) {
  SKIP_WITHOUT_CLIENT();
  for (const char* url : {"", "file:///etc/passwd", "localhost:80", "ftp://x/"}) {
    EXPECT_EQ(make_http_target({url, {}, 1, 1}).error().kind, ErrorKind::usage) << url;
  }
}

}  // namespace
}  // namespace ocrtune
