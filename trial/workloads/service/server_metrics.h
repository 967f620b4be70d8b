// A server's own metrics, in the text format of Prometheus, read beside a measurement.
//
// Series of one name that differ in their labels are added up. A counter comes out as its growth a
// second, a gauge as its mean and its most, a histogram or summary as its mean over what came in
// meanwhile.
// Source: https://prometheus.io/docs/instrumenting/exposition_formats
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// One reading: the names of series (with _sum and _count) and their values.
struct MetricsReading {
  std::map<std::string, double> values;
  std::map<std::string, std::string> kinds;  // "counter", "gauge", ... by the name in # TYPE
  double seconds = 0;
};

// Lines that are no samples are passed over.
MetricsReading parse_metrics(std::string_view text);

// "vllm:num_requests_running 7.9 (at most 8), srv:requests 37.1/s", of these names in their
// order; none: of all that moved, the first dozen. Empty: fewer than two readings.
std::string metrics_text(const std::vector<MetricsReading>& readings,
                         const std::vector<std::string>& names);

// Where metrics are: an address, or a path of the server that is asked, and behind a '#' the names
// that are told: "/metrics#vllm:num_requests_waiting,vllm:kv_cache_usage_perc".
struct MetricsPlace {
  std::string url;
  std::vector<std::string> names;
};
MetricsPlace metrics_place(const std::string& text, const std::string& server_url);

// Reads them every second, beside the requests, in a thread of its own.
class MetricsWatch {
 public:
  explicit MetricsWatch(MetricsPlace place);  // no URL: watches nothing
  ~MetricsWatch();
  MetricsWatch(const MetricsWatch&) = delete;
  MetricsWatch& operator=(const MetricsWatch&) = delete;

  std::string stop();  // what they came to, or why they could not be read; empty: not asked for

 private:
  void run();

  MetricsPlace place_;
  std::vector<MetricsReading> readings_;
  std::string failure_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace ocrtune
