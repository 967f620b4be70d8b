// A probe file and the measured node become a node of that machine. Processes go by the ratio of
// cores, the rate by the scaling fit and the cores' speed, bounded by bandwidth. GPUs, tables
// without cores and rates under a target are refused.
#include "extras/capacity/other_machine.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/plural.h"
#include "base/text.h"
#include "extras/capacity/back_test.h"
#include "probes/machine/machine_json.h"

namespace ocrtune {
namespace {

constexpr double kUnknownSpeedSpread = 0.2;
constexpr double kKnownSpeedSpread = 0.1;

// The scaling curve's gain from `own` to `wanted` processes, with its relative half-width.
struct Gain {
  double factor = 1;
  double spread = 0;
};

Gain gain_of(const ScalingFit& fit, int own, int wanted) {
  if (own == wanted) return {};
  std::vector<double> gains;
  for (const UslCurve& draw : fit.draws) gains.push_back(draw.at(wanted) / draw.at(own));
  // One deviation to either side of the middle.
  const double low = quantile(gains, 0.16);
  const double high = quantile(gains, 0.84);
  return {median(gains), 0.5 * std::log(high / low)};
}

}  // namespace

Result<Machine> read_machine(const std::string& path) {
  const auto text = OCRTUNE_TRY(read_file(path, 64U << 20));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto another = [&](const std::string& why) {
    return Error{ErrorKind::invalid, path + " is no probe file that this version reads: " + why +
                                         " (write one with: ocrtune probe --json > probe.json)"};
  };
  if (!json.is_object()) return another("not a JSON object");
  if (json.contains("schema") && json["schema"] != kProbeSchema) {
    return another(fmt::format("its schema is {}, and this version reads {}", json["schema"].dump(),
                               kProbeSchema));
  }
  auto machine = parse_machine_json(text);
  if (!machine) return another(machine.error().what);
  if (planning_cores(*machine) <= 0) return another("it does not say how many CPUs are usable");
  return machine;
}

namespace {

// Measurements that say nothing of another machine's cores.
Status check_scalable(const NodeMeasurement& node) {
  if (node.on_gpus || node.knobs.backend == "cuda") {
    return Error{ErrorKind::unsupported,
                 node.source +
                     " was measured on GPUs, and another machine's cores say nothing "
                     "about its GPUs: tune there"};
  }
  if (node.usable_cores <= 0) {
    return Error{ErrorKind::unsupported,
                 node.source + " does not say how many cores the measured machine has" +
                     "; a table states them in its first line: # cores=64"};
  }
  if (!node.slo.empty()) {
    return Error{ErrorKind::unsupported,
                 node.source +
                     " measured a rate under a latency target, which other cores change in a way "
                     "that is not known: plan from a run of tune --mode infer without --slo"};
  }
  return Status();
}

}  // namespace

Result<NodeMeasurement> scale_to_machine(const NodeMeasurement& node, const Machine& machine) {
  OCRTUNE_TRY(check_scalable(node));
  NodeMeasurement other = node;
  const double ratio = planning_cores(machine) / node.usable_cores;
  const int wanted = std::max(1, static_cast<int>(std::floor(node.knobs.nproc * ratio + 1e-6)));
  const auto fit = OCRTUNE_TRY(fit_scaling(node.points));
  const double factor = valid_factor(back_tests(node.points));
  if (wanted > fit.max_processes * factor + 1e-9) {
    return Error{ErrorKind::unsupported,
                 fmt::format("{:.4g} cores there mean {}, and the measurements of {} back at "
                             "most {:.0f}; measure on that machine, or more process counts here",
                             planning_cores(machine), how_many(wanted, "process"), node.source,
                             std::floor(fit.max_processes * factor))};
  }
  Gain gain = gain_of(fit, node.knobs.nproc, wanted);
  const double core = machine.cpu.core_multiply_adds_per_second.value_or(0);
  const bool speed_known = core > 0 && node.core_multiply_adds_per_second > 0;
  if (speed_known) gain.factor *= core / node.core_multiply_adds_per_second;
  const double theirs = machine.memory.bandwidth_bytes_per_second.value_or(0);
  if (theirs > 0 && node.bandwidth_bytes_per_second > 0) {
    const double bound = theirs / node.bandwidth_bytes_per_second;
    if (bound < gain.factor) {  // somewhere between both: the middle, and its half-width
      gain.spread = std::hypot(gain.spread, 0.5 * std::log(gain.factor / bound));
      gain.factor = std::sqrt(gain.factor * bound);
    }
  }
  const double memory = machine.memory.limit_bytes.value_or(0);
  other.peak_bytes =
      static_cast<std::uint64_t>(static_cast<double>(node.peak_bytes) * wanted / node.knobs.nproc);
  if (memory > 0 && static_cast<double>(other.peak_bytes) > memory) {
    return Error{ErrorKind::unsupported,
                 fmt::format("{} there take about {} of {}", how_many(wanted, "process"),
                             format_bytes(other.peak_bytes),
                             format_bytes(static_cast<std::uint64_t>(memory)))};
  }
  const double each = gain.factor * node.knobs.nproc / wanted;  // speed of one process
  other.knobs.nproc = wanted;
  for (double& rate : other.rates) rate *= gain.factor;
  for (double* end : {&other.stated_rate.median, &other.stated_rate.low, &other.stated_rate.high}) {
    *end *= gain.factor;
  }
  for (BatchTimes& batch : other.service) {
    for (double& seconds : batch.seconds) seconds /= each;
  }
  other.kind =
      fmt::format("{} ({:.4g} cores)", machine.host.empty() ? "the probed machine" : machine.host,
                  planning_cores(machine));
  other.scaled = ScaledFrom{node.knobs.nproc, gain.factor,
                            speed_known ? core / node.core_multiply_adds_per_second : 0};
  other.servers = std::max(1, node.servers * wanted / std::max(1, node.knobs.nproc));
  other.widened = std::hypot(speed_known ? kKnownSpeedSpread : kUnknownSpeedSpread, gain.spread);
  other.usable_cores = planning_cores(machine);
  other.memory_bytes = static_cast<std::uint64_t>(memory);
  return other;
}

}  // namespace ocrtune
