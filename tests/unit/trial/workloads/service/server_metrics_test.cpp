#include "trial/workloads/service/server_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using testing::ElementsAre;

constexpr const char* kText = R"(# HELP vllm:num_requests_running Number of requests, running now.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a b}c"} 3.0
vllm:num_requests_running{engine="1",model_name="a b}c"} 1.0
# TYPE requests_total counter
requests_total 120 1700000000000
# TYPE wait_seconds histogram
wait_seconds_bucket{le="+Inf"} 4
wait_seconds_sum 2
wait_seconds_count 4
# TYPE share gauge
share NaN
this is no sample
)";

MetricsReading at(double seconds, double running, double requests) {
  MetricsReading reading = parse_metrics(kText);
  reading.seconds = seconds;
  reading.values["vllm:num_requests_running"] = running;
  reading.values["requests_total"] = requests;
  return reading;
}

TEST(ServerMetrics, SeriesOfOneNameAreAddedUp) {
  const MetricsReading reading = parse_metrics(kText);
  EXPECT_EQ(reading.values.at("vllm:num_requests_running"), 4);
  EXPECT_EQ(reading.values.at("requests_total"), 120) << "the time behind it is none of its value";
  EXPECT_EQ(reading.values.at("wait_seconds_sum"), 2);
  EXPECT_EQ(reading.values.count("share"), 0U);
  EXPECT_EQ(reading.kinds.at("wait_seconds"), "histogram");
  EXPECT_TRUE(parse_metrics("<html>\n{}\n=").values.empty());
}

TEST(ServerMetrics, CountersAreRatesAndGaugesMeans) {
  std::vector<MetricsReading> readings = {at(10, 2, 120), at(12, 6, 220), at(14, 4, 320)};
  readings.back().values["wait_seconds_sum"] = 7;
  readings.back().values["wait_seconds_count"] = 14;
  EXPECT_EQ(metrics_text(readings,
                         {"requests_total", "vllm:num_requests_running", "absent", "wait_seconds"}),
            "requests_total 50/s, vllm:num_requests_running 4 (at most 6), wait_seconds 0.5 "
            "on average");
  EXPECT_EQ(metrics_text(readings, {}),
            "requests_total 50/s, vllm:num_requests_running 4 (at most 6), wait_seconds 0.5 "
            "on average");
  EXPECT_EQ(metrics_text({readings[0]}, {}), "");
  EXPECT_EQ(metrics_text({readings[0], readings[0]}, {"absent"}), "");
}

TEST(ServerMetrics, APathIsOneOfTheServer) {
  const MetricsPlace place = metrics_place("/metrics#a:b, c", "http://127.0.0.1:8000/v1/chat?x=1");
  EXPECT_EQ(place.url, "http://127.0.0.1:8000/metrics");
  EXPECT_THAT(place.names, ElementsAre("a:b", "c"));
  EXPECT_EQ(metrics_place("/m", "http://host:1").url, "http://host:1/m");
  EXPECT_EQ(metrics_place("http://other:9/m", "http://host:1/ocr").url, "http://other:9/m");
  EXPECT_EQ(metrics_place("", "http://host:1/ocr").url, "");
}

}  // namespace
}  // namespace ocrtune
