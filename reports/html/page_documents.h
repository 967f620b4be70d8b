// What other commands printed with --json, read back so that the page can show it beside a run:
// plan (capacity), slo (latency against rate), p2p (a verdict for each GPU pair), probe --hosts
// (links between hosts).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/stats.h"

namespace ocrtune {

struct CapacityDocument {
  struct Row {
    int machines = 0;
    Interval samples_per_second;
    double busy_share = -1, latency_seconds = -1, seconds = -1;  // below 0: not said
    double probability = 0;
    double cost_per_hour = -1;
  };
  std::string answer, source, valid_reason;
  bool refused = false, extrapolated = false;
  int machines = 0, spare_machines = 0;
  double valid_low = 0, valid_high = 0;
  std::vector<Row> rows;
  struct Test {
    double at = 0, predicted = 0, low = 0, high = 0, measured = 0, error = 0;
  };
  std::vector<Test> back_tests;
  struct Kind {
    std::string name, machine;
    double machines = -1, cost_per_hour = -1, cost_per_million = -1;
  };
  std::vector<Kind> kinds;  // empty: one kind was asked for
  struct Month {
    int month = 0, machines = 0, spares = 0;
    double fixed_hours = 0, scaled_hours = 0, risk_hours = 0;
  };
  std::vector<std::string> year;  // sentences; empty: no year was planned
  std::vector<Month> months;
  struct StoreTest {
    std::string figure, from, against, knobs;
    Interval predicted;
    double measured = 0, error = 0;
    bool held = false;
  };
  std::string store_answer;  // of predictions from stored runs; empty: none was asked for
  std::vector<StoreTest> store_tests;
  std::vector<std::string> notes;
};

struct LatencyDocument {
  struct Point {
    double requests_per_second = 0, latency_seconds = 0, median_seconds = 0;
    std::string verdict;  // kept, broken, undecided
    double judged = 0, over = 0;
  };
  std::string answer, slo;         // "p99 under 80 ms"
  double slo_seconds = 0;          // 0: not said
  double requests_per_second = 0;  // the highest rate proved; 0: none
  std::vector<Point> points;       // in the order in which they were tried
};

struct PeerDocument {
  struct Pair {
    int from = 0, to = 0;
    std::string verdict;
    std::vector<std::string> evidence;
  };
  std::string verdict, sentence, proof;
  std::vector<Pair> pairs;
};

struct HostsDocument {
  struct Speed {
    std::string host;
    double lines_per_second = 0;  // of the same seeded step
  };
  struct Link {
    std::string from, to, network, error;  // error empty: it was measured
    double latency_seconds = 0, bytes_per_second = 0;
  };
  using Named = std::vector<std::pair<std::string, std::string>>;
  std::vector<Speed> speeds;
  std::vector<Link> links;
  Named findings, lost;                            // host, what is odd there
  std::vector<std::pair<std::string, Named>> env;  // host, variables of the best network
};

struct PageDocuments {
  std::optional<CapacityDocument> capacity;
  std::optional<LatencyDocument> latency;
  std::optional<PeerDocument> peers;
  std::optional<HostsDocument> hosts;
};

// Adds the document, recognised by its keys. invalid: not JSON, or none of the four.
Status add_document(const std::string& json, PageDocuments& documents);

}  // namespace ocrtune
