#include "trial/workloads/service/served_target.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/support/loopback_server.h"
#include "trial/free_port.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

constexpr const char* kOkAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

std::string url_of(int port) { return "http://127.0.0.1:" + std::to_string(port) + "/ocr"; }

TEST(ServedTarget, RefusesAnAddressWhereAnotherListens) {
  const LoopbackServer stranger(kOkAnswer);
  const auto target = make_served_target({{"sleep", "100"}, stranger.url(), {}, 5});
  ASSERT_FALSE(target.ok());
  if (target.error().kind == ErrorKind::unsupported) GTEST_SKIP() << "built without libcurl";
  EXPECT_THAT(target.error().what, HasSubstr("another program listens at"));
  EXPECT_EQ(stranger.requests, 0);
}

TEST(ServedTarget, QuotesAServerThatEndsBeforeItAnswers) {
  const auto target = make_served_target(
      {{"sh", "-c", "echo cannot bind >&2; exit 3"}, url_of(free_port()), {}, 20});
  ASSERT_FALSE(target.ok());
  if (target.error().kind == ErrorKind::unsupported) GTEST_SKIP() << "built without libcurl";
  EXPECT_EQ(target.error().what, "the server ended with exit code 3: cannot bind");
}

// The address is taken by another program after the start; ours says so and ends.
TEST(ServedTarget, WhoAnswersAfterTheServersEndIsNotMeasured) {
  const int port = free_port();
  std::unique_ptr<LoopbackServer> stranger;
  std::thread later([&] {
    steady_clock().sleep_seconds(0.5);
    stranger = std::make_unique<LoopbackServer>(kOkAnswer, port);
  });
  auto target = make_served_target(
      {{"sh", "-c", "echo address in use; sleep 2; exit 3"}, url_of(port), {}, 20});
  later.join();
  if (!target.ok()) {  // a busy machine: the end was seen before the first answer
    EXPECT_THAT(target.error().what, HasSubstr("exit code 3"));
    return;
  }
  std::vector<Completion> finished;
  const double end = steady_clock().now_seconds() + 20;
  std::uint64_t request = 0;
  while ((*target)->ended().empty() && steady_clock().now_seconds() < end) {
    (*target)->start(request++, 0);
    (*target)->collect(steady_clock().now_seconds() + 0.05, finished);
  }
  EXPECT_EQ((*target)->ended(), "the server ended with exit code 3: address in use");
  EXPECT_EQ((*target)->failure(), (*target)->ended());
  const int before = stranger->requests;
  finished.clear();
  (*target)->start(request, 0);
  (*target)->collect(steady_clock().now_seconds() + 5, finished);
  ASSERT_FALSE(finished.empty());
  EXPECT_FALSE(finished.back().ok);
  EXPECT_EQ(finished.back().request, request);
  EXPECT_EQ(stranger->requests, before) << "the stranger is loaded";
  target->reset();
}

TEST(ServedTarget, EachCopyIsAskedAtItsOwnAddress) {
  const LoopbackServer server(kOkAnswer);
  ServedTargetOptions options;
  options.url = server.url() + "/{copy}";
  options.copies = 3;
  const auto target = make_served_target(options);
  if (!target.ok() && target.error().kind == ErrorKind::unsupported) {
    GTEST_SKIP() << "built without libcurl";
  }
  ASSERT_TRUE(target.ok()) << target.error().what;
  EXPECT_EQ(server.requests, 3) << "each is asked once before the load";
  for (std::uint64_t request = 0; request < 6; ++request) (*target)->start(request, 0);
  std::vector<Completion> finished;
  const double end = steady_clock().now_seconds() + 20;
  while (finished.size() < 6 && steady_clock().now_seconds() < end) {
    (*target)->collect(steady_clock().now_seconds() + 0.05, finished);
  }
  EXPECT_EQ(finished.size(), 6U);
  EXPECT_EQ(server.requests, 9);

  options.url = "http://127.0.0.1:1{copy}/";
  const auto refused = make_served_target(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().what, HasSubstr("127.0.0.1:10"));
}

// A proxy is asked for nothing that is looked up here: it would answer for every port.
TEST(ServedTarget, AFreePortIsFreeBehindAProxy) {
  const LoopbackServer proxy(kOkAnswer);
  ASSERT_EQ(::setenv("http_proxy", proxy.url().c_str(), 1), 0);
  const bool free = check_address_is_free({"sleep"}, url_of(free_port())).ok();
  const bool taken = check_address_is_free({"sleep"}, proxy.url()).ok();
  ::unsetenv("http_proxy");
  EXPECT_TRUE(free);
  EXPECT_FALSE(taken);
  EXPECT_EQ(proxy.requests, 0);
}

TEST(ServedTarget, NamesThePortOnWhichItListensInstead) {
  const int listens = free_port();
  const auto target = make_served_target(
      {{"python3", "-m", "http.server", "--bind", "127.0.0.1", std::to_string(listens)},
       url_of(free_port()),
       {},
       4});
  ASSERT_FALSE(target.ok());
  if (target.error().kind == ErrorKind::unsupported) GTEST_SKIP() << "built without libcurl";
  EXPECT_THAT(target.error().what, HasSubstr("it listens on " + std::to_string(listens)));
}

TEST(ServedTarget, AServerThatReadsNoInputIsCalledOne) {
  const int listens = free_port();
  const auto target = make_served_target(
      {{"python3", "-m", "http.server", "--bind", "127.0.0.1", std::to_string(listens)},
       "",
       {},
       60});
  ASSERT_FALSE(target.ok());
  if (target.error().kind == ErrorKind::unsupported) GTEST_SKIP() << "built without libcurl";
  EXPECT_THAT(target.error().what, HasSubstr("answers HTTP on port " + std::to_string(listens)));
  EXPECT_THAT(target.error().what, HasSubstr("--url http://127.0.0.1:{port}/"));
}

}  // namespace
}  // namespace ocrtune
