// Is the rate that a search and its proof claim just below the truth of simulated servers?
//
//   build/capacity_slo_proof [runs for each server] [seconds of the proof] [first seed] [slo]
//
// A search of 38 scripted seconds and a proof, as a tune makes them. The first seven servers are
// those of bench/service/bed.py that a queue describes; the others are unlike the queue that the
// proof compares them with. Truths come from simulations of a million requests.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/stats.h"
#include "bench/synthetic/simulated_server.h"
#include "trial/workloads/service/arrivals.h"
#include "trial/workloads/service/load_generator.h"
#include "tuner/slo/proof_start.h"
#include "tuner/slo/slo_search.h"

namespace {

using namespace ocrtune;

constexpr double kSearchSeconds = 38;
constexpr double kTruthRequests = 1e6;

struct Kind {
  std::string name;
  int slots;
  double seconds;
  bool sheds = false;
  double spread = 0;               // of the logarithm of a service; below 0: exponential
  double pause_every_seconds = 0;  // 10 services long
};

const std::vector<Kind> kKinds = {{"backlog", 16, 0.1},
                                  {"single", 1, 0.05},
                                  {"jobs", 2, 0.08},
                                  {"cache", 4, 0.1},
                                  {"429 wall", 6, 0.06, true},
                                  {"leak", 4, 0.05},
                                  {"HTTP/1.0", 8, 0.05},
                                  {"exponential services", 1, 0.02, false, -1},
                                  {"exponential services, 4 slots", 4, 0.05, false, -1},
                                  {"lognormal services, 2 slots", 2, 0.05, false, 0.5},
                                  {"lognormal services, 429 wall", 6, 0.06, true, 0.5},
                                  {"pauses", 4, 0.02, false, 0.1, 5}};

SimulatedService service_of(const Kind& kind, std::uint64_t seed) {
  SimulatedService service;
  service.servers = kind.slots;
  service.max_in_flight = kind.sheds ? kind.slots : 0;
  service.seed = seed;
  service.service_seconds = [kind, left = kind.pause_every_seconds](Random& random, int) mutable {
    double seconds = kind.seconds + 0.001 * (random.uniform() - 0.5);
    if (kind.spread < 0) seconds = random.exponential(1 / kind.seconds);
    if (kind.spread > 0) {
      seconds =
          kind.seconds * std::exp(kind.spread * random.normal() - kind.spread * kind.spread / 2);
    }
    if (kind.pause_every_seconds <= 0) return seconds;
    left -= seconds / kind.slots;
    if (left > 0) return seconds;
    left = kind.pause_every_seconds * (0.5 + random.uniform());
    return seconds + 10 * kind.seconds;
  };
  return service;
}

double true_rate(const Kind& kind, const LatencySlo& slo) {
  double low = 0, high = 1.2 * kind.slots / kind.seconds;
  for (int i = 0; i < 12; ++i) {
    const double middle = (low + high) / 2;
    SimulatedServer server(service_of(kind, 5));
    LoadPlan plan;
    plan.slo = slo;
    plan.warm_up_seconds = 50 * slo.seconds;
    plan.max_seconds = kTruthRequests / middle;
    plan.stop_when_decided = false;
    const LoadResult got = run_load(server, server.clock(), Arrivals::poisson(middle, 7), plan);
    const double share = static_cast<double>(got.over) / static_cast<double>(got.judged);
    const bool keeps = got.stop == LoadStop::seconds && share <= 1 - slo.percentile;
    (keeps ? low : high) = middle;
  }
  return low;
}

// One trial of a search, as a run keeps it.
std::vector<LoadPoint> loads_of(const SloSearchResult& found) {
  std::vector<LoadPoint> loads = found.closed.loads();
  for (const RateProbe& probe : found.probes) {
    const bool broken = probe.verdict == SloVerdict::violated;
    loads.push_back({0, probe.requests_per_second, 0, 0, 0, probe.latency_seconds, probe.judged,
                     probe.over, broken ? "broken" : ""});
  }
  return loads;
}

struct Outcomes {
  std::vector<double> starts, claims, seconds;  // of the truth, of the truth, of the proof
  int runs = 0, near = 0, above = 0, nothing = 0;
};

void run(const Kind& kind, const LatencySlo& slo, double truth, double proof_seconds,
         std::uint64_t seed, Outcomes& out) {
  ++out.runs;
  SloSearchOptions options = search_of_a_trial();
  options.slo = slo;
  options.budget_seconds = kSearchSeconds;
  options.seed = seed * 13 + 1;
  SimulatedServer searched(service_of(kind, seed));
  const auto found = find_highest_rate(searched, searched.clock(), options);
  ++out.nothing;
  if (!found || !found->found) return;
  SloSearchOptions full;
  full.slo = slo;
  full.budget_seconds = proof_seconds;
  full.seed = options.seed;
  SimulatedServer server(service_of(kind, seed + 1000000));
  const RateToProve start = proof_start({loads_of(*found)}, slo, found->requests_per_second, true);
  const auto proved = prove_rate(server, server.clock(), full, start);
  out.starts.push_back(start.requests_per_second / truth);
  out.seconds.push_back(server.clock().now_seconds());
  if (!proved || !proved->found) return;
  --out.nothing;
  out.claims.push_back(proved->requests_per_second / truth);
  out.above += out.claims.back() > 1 ? 1 : 0;
  out.near += out.claims.back() > 0.8999 && out.claims.back() <= 1 ? 1 : 0;
}

std::string middle_and_ends(const std::vector<double>& values) {
  if (values.empty()) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.3g (%.3g..%.3g)", median(values), quantile(values, 0.05),
                quantile(values, 0.95));
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 20;
  const double proof_seconds = argc > 2 ? std::atof(argv[2]) : 200;
  const std::uint64_t first = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  const auto slo = parse_slo(argc > 4 ? argv[4] : "p95=400ms");
  if (!slo) return std::fprintf(stderr, "%s\n", slo.error().what.c_str()), 2;
  std::printf(
      "| server | truth | proof began at | claimed | within 10 %% below | above | nothing "
      "proved | proof, s |\n|--|--|--|--|--|--|--|--|\n");
  for (const Kind& kind : kKinds) {
    const double truth = true_rate(kind, *slo);
    Outcomes out;
    for (int i = 0; i < runs; ++i) {
      run(kind, *slo, truth, proof_seconds, first + static_cast<std::uint64_t>(i), out);
    }
    std::printf("| %s | %.4g/s | %s | %s | %d of %d | %d | %d | %s |\n", kind.name.c_str(), truth,
                middle_and_ends(out.starts).c_str(), middle_and_ends(out.claims).c_str(), out.near,
                out.runs, out.above, out.nothing, middle_and_ends(out.seconds).c_str());
    std::fflush(stdout);
  }
  return 0;
}
