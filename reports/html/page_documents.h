// What other commands printed with --json, read back so that the page can show it beside a run:
// slo (latency against rate), p2p (a verdict for each GPU pair), and documents of the extras.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "trial/load_point.h"

namespace ocrtune {

struct LatencyDocument {
  std::string answer, slo;         // "p99 under 80 ms"
  double slo_seconds = 0;          // 0: not said
  double requests_per_second = 0;  // the highest rate proved; 0: none
  double ready_seconds = 0;        // of a server that was started; 0: not known
  double alone_seconds = 0;        // one request at a time; 0: not known
  std::vector<LoadPoint> points;   // in the order in which they were tried
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

struct PageDocuments {
  std::string extras;  // sections, HTML
  std::optional<LatencyDocument> latency;
  std::optional<PeerDocument> peers;
};

// Adds the document, recognised by its keys. invalid: not JSON, or none of these.
Status add_document(const std::string& json, PageDocuments& documents);

}  // namespace ocrtune
