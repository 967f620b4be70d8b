#include "trial/workloads/service/http_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/loopback_server.h"
#include "trial/workloads/service/load_generator.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

bool no_client() {
  const auto target = make_http_target({"http://127.0.0.1:1/", {}, 1, 1});
  return !target.ok() && target.error().kind == ErrorKind::unsupported;
}

#define SKIP_WITHOUT_CLIENT() \
  if (no_client()) GTEST_SKIP() << "built without libcurl"

constexpr const char* kFine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

TEST(HttpTarget, ProxyIsNotAskedForLoopback) {
  LoopbackServer server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  ASSERT_EQ(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
  HttpTargetOptions options;
  options.url = server.url();
  const auto target = make_http_target(options);
  unsetenv("http_proxy");
  EXPECT_TRUE(target) << target.error().what;
}

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
  EXPECT_THAT(target.error().what, HasSubstr("answers HTTP 503 to a GET; --input FILE"));
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

TEST(HttpTarget, AnErrorWithinAGoodStatusIsAFailure) {
  SKIP_WITHOUT_CLIENT();
  LoopbackServer server(
      "HTTP/1.1 200 OK\r\nContent-Length: 39\r\n\r\n{\"errorCode\":500,\"errorMsg\":\"no model\"}");
  HttpTargetOptions options{server.url(), {{"image/png", "PNG", {"errorCode=0"}}}, 10, 4};
  const auto refused = make_http_target(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().what, HasSubstr("lacks errorCode=0: {\"errorCode\":500"));
  options.bodies[0].answer = {"errorCode=500", "errorMsg"};
  auto target = make_http_target(options);
  ASSERT_TRUE(target.ok()) << target.error().what;
  LoadPlan plan;
  plan.max_requests = 50;
  const LoadResult result = run_load(**target, steady_clock(), Arrivals::poisson(2000, 1), plan);
  EXPECT_EQ(result.completed, 50);
  EXPECT_EQ(result.failed, 0) << (*target)->failure();
}

}  // namespace
}  // namespace ocrtune
