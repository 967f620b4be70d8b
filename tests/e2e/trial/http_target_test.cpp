#include "trial/workloads/service/http_target.h"

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/support/loopback_server.h"
#include "trial/workloads/service/load_generator.h"
#include "trial/workloads/service/server_metrics.h"

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

// In a thread of its own, from before the first request on.
TEST(HttpTarget, MetricsAreReadBesideTheRequests) {
  SKIP_WITHOUT_CLIENT();
  LoopbackServer metrics(
      "HTTP/1.1 200 OK\r\nContent-Length: 43\r\n\r\n# TYPE queue_length gauge\nqueue_length 3.0\n");
  LoopbackServer server(kFine);
  MetricsWatch watch(metrics_place(metrics.url() + "#queue_length", server.url()));
  auto target = make_http_target({server.url(), {}, 10, 4});
  ASSERT_TRUE(target.ok()) << target.error().what;
  LoadPlan plan;
  plan.max_requests = 300;
  const LoadResult result = run_load(**target, steady_clock(), Arrivals::poisson(200, 1), plan);
  EXPECT_EQ(result.completed, 300);
  EXPECT_THAT(watch.stop(), HasSubstr("queue_length 3"));
  EXPECT_GE(metrics.requests, 2);
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

std::string http(const std::string& body, const std::string& head = "200 OK") {
  return "HTTP/1.1 " + head + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

HttpTargetOptions job_options(const std::string& url) {
  HttpTargetOptions options{url, {{"image/png", "PNG", {"text"}}}, 10, 64};
  JobForm job;
  job.submit = "task.id";
  job.poll = "/status/{job}";
  job.started = {"state=started"};
  job.done = {"state=success"};
  job.failed = {"state=failure"};
  job.result = "/result/{job}";
  job.poll_seconds = 0.02;
  options.bodies[0].job = job;
  return options;
}

// Polled twice before it is done.
std::string answer_of_jobs(const std::string& request, std::atomic<int>& polls) {
  if (starts_with(request, "POST ")) return http(R"({"task": {"id": 7}})", "202 Accepted");
  if (starts_with(request, "GET /status/7 ")) {
    const char* const states[] = {"pending", "started", "success"};
    return http(fmt::format(R"({{"state": "{}"}})", states[polls++ % 3]));
  }
  return starts_with(request, "GET /result/7 ") ? http(R"({"text": "line"})") : http("", "404 No");
}

TEST(HttpTarget, AJobCountsWhenItsResultIsThere) {
  SKIP_WITHOUT_CLIENT();
  std::atomic<int> polls = 0;
  LoopbackServer server([&](const std::string& request) { return answer_of_jobs(request, polls); });
  auto target = make_http_target(job_options(server.url()));
  ASSERT_TRUE(target.ok()) << target.error().what;
  EXPECT_EQ(polls, 3);
  (*target)->start(1, 0);
  std::vector<Completion> finished;
  const double end = steady_clock().now_seconds() + 30;
  while (finished.empty() && steady_clock().now_seconds() < end) {
    (*target)->collect(steady_clock().now_seconds() + 0.1, finished);
  }
  ASSERT_EQ(finished.size(), 1U);
  EXPECT_TRUE(finished[0].ok) << (*target)->failure();
  EXPECT_EQ(polls, 6);
  const JobTimes times = (*target)->job_times();
  EXPECT_EQ(times.jobs, 2);
  EXPECT_GE(times.queue_seconds, 2 * 2 * 0.02 * 0.9);
  EXPECT_GE(times.total_seconds, times.queue_seconds + 2 * 0.02 * 0.9);
}

TEST(HttpTarget, AJobThatFailsIsAFailure) {
  SKIP_WITHOUT_CLIENT();
  LoopbackServer failing([](const std::string& request) {
    return starts_with(request, "POST ") ? http(R"({"task": {"id": "a"}})")
                                         : http(R"({"state": "failure"})");
  });
  EXPECT_THAT(make_http_target(job_options(failing.url())).error().what,
              HasSubstr("job that failed"));
  LoopbackServer nameless(http(R"({"status": "ok"})"));
  EXPECT_THAT(make_http_target(job_options(nameless.url())).error().what,
              HasSubstr("has no job's id at task.id"));
}

TEST(HttpTarget, TurnedAwayIsNoFault) {
  SKIP_WITHOUT_CLIENT();
  for (const auto& [head, refused] :
       {std::pair{"429 Too Many Requests\r\nRetry-After: 1", true},
        std::pair{"503 Busy\r\nRetry-After: 1", true}, std::pair{"503 Broken", false},
        std::pair{"500 Broken", false}}) {
    std::atomic<int> asked = 0;
    const std::string later = http("", head);
    LoopbackServer server([&](const std::string&) { return asked++ == 0 ? http("ok") : later; });
    auto target = make_http_target({server.url(), {}, 10, 4});
    ASSERT_TRUE(target.ok()) << target.error().what;
    (*target)->start(1, 0);
    std::vector<Completion> finished;
    const double end = steady_clock().now_seconds() + 30;
    while (finished.empty() && steady_clock().now_seconds() < end) {
      (*target)->collect(steady_clock().now_seconds() + 0.1, finished);
    }
    ASSERT_EQ(finished.size(), 1U);
    EXPECT_FALSE(finished[0].ok);
    EXPECT_EQ(finished[0].refused, refused) << head;
  }
}

TEST(HttpTarget, ARefusedBodyIsQuoted) {
  SKIP_WITHOUT_CLIENT();
  LoopbackServer server(http(R"({"detail": "file: Field required"})", "422 Unprocessable"));
  const auto target = make_http_target({server.url(), {{"image/png", "PNG"}}, 10, 4});
  ASSERT_FALSE(target.ok());
  EXPECT_THAT(target.error().what, HasSubstr("file: Field required"));
  EXPECT_THAT(target.error().what, HasSubstr(".request.toml"));
}

TEST(HttpTarget, EveryAnswerIsCheckedWithItsKind) {
  SKIP_WITHOUT_CLIENT();
  LoopbackServer server(http("page"));
  std::vector<std::string> seen;
  HttpTargetOptions options{server.url(), {}, 10, 4};
  options.check = [&](int kind, const std::string& body, int in_flight) {
    seen.push_back(fmt::format("{} {} {}", kind, body, in_flight));
    return std::string(seen.size() > 2 ? "is another" : "");
  };
  auto target = make_http_target(options);
  ASSERT_TRUE(target.ok()) << target.error().what;
  LoadPlan plan;
  plan.max_requests = 20;
  const LoadResult result = run_load(**target, steady_clock(), Arrivals::poisson(2000, 1), plan);
  EXPECT_EQ(seen.size(), 21U);
  EXPECT_EQ(seen[0], "0 page 1");
  EXPECT_EQ(result.failed, 19);
}

}  // namespace
}  // namespace ocrtune
