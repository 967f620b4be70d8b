// What one machine was measured to do: the base of every capacity plan.
//
// Taken from a run's trials or from a recorded table: of a run the recommended setting, under a
// SLO with the rate that was proved at full length; of a table the fastest. The settings that
// differ from it only in the number of processes form the scaling curve; those that differ only in
// the batch tell how long a batch of k takes. A service of the user's own is as many servers as its
// closed load kept in flight, each with the latencies that were measured there (Little's law) while
// all of them work, and with those of one request alone while no other does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "extras/capacity/queueing.h"
#include "extras/capacity/run_work.h"
#include "trial/table_runner.h"
#include "tuner/verdict/scaling.h"

namespace ocrtune {

enum class SloProof {
  none,    // no latency target was kept
  proved,  // over a time of full length
  unproved,
};

// A machine that was only probed (other_machine.h).
struct ScaledFrom {
  int processes = 1;  // of the measured one
  double rate_factor = 1;
  double core_factor = 0;  // of a core's measured speed; 0: not known
};

struct NodeMeasurement {
  std::string source;                // "run 2026-11-21-a3f9", "table t.csv": for errors
  std::string run, table;            // one of them: its id, its name
  std::string machine;               // "AMD EPYC 7763, 16 CPUs", "2 x NVIDIA H100"; empty: unknown
  std::string started;               // when it was measured, UTC, ISO 8601; empty: unknown
  std::optional<RunWork> work;       // none: a table does not say, or a command may do either
  bool batched = true;               // the settings have a batch
  bool on_gpus = false;              // it computed on them, or may have
  Knobs knobs;                       // the best setting on one node
  std::vector<double> rates;         // its repeats, samples per second
  std::string unit = "line images";  // what `rates` count
  double noise = 0;                  // relative standard deviation of a repeat
  // The rate with its 95 % interval as the run's answer states it; all zero: from `rates`, `noise`.
  Interval stated_rate;
  bool disturbed = false;            // other load took part in most of its windows
  bool inconclusive = false;         // its trials do not settle which setting is the best
  bool beside_load = false;          // its rate is that beside the load that was there
  std::uint64_t peak_bytes = 0;      // of that setting, possible between readings; 0: unknown
  double start_seconds = 0;          // until its first step; 0: unknown
  std::vector<ScalingPoint> points;  // processes on one node, all else as in `knobs`
  std::vector<ScalingPoint> nodes;   // `processes` here counts nodes; empty: one node was measured
  int servers = 1;       // that work at a time: processes, or requests in flight of a service
  ServiceTimes service;  // of one of them
  bool service_spread_known = false;
  bool batch_cost_known = false;  // else a part-filled batch is taken to last as long as a full one
  // `service` is the latency of the service's own requests at its closed load; one alone takes
  // `alone_share` of it.
  bool request_seconds_known = false;
  double alone_share = 1;
  std::string slo;  // `rates` are the highest that keep it; empty: saturated ones
  SloProof proof = SloProof::none;
  bool may_be_higher = false;  // under the SLO: the time was too short to try a higher rate
  bool capped = false;         // at the closed load, which was below what the SLO's search kept
  double usable_cores = 0;     // 0: unknown
  double core_multiply_adds_per_second = 0;  // of one core; 0: unknown
  std::uint64_t memory_bytes = 0;
  double bandwidth_bytes_per_second = 0;
  // Set by capacity/other_machine.h when the node is not the measured one.
  std::string kind;    // "n7 (96 cores)"; empty: the measured kind
  double widened = 0;  // further relative deviation; above 0: EXTRAPOLATED
  std::optional<ScaledFrom> scaled;
};

// Requests or images that a process takes at once: 1 where nothing was told of a batch.
int batch_of(const Knobs& knobs);

// invalid: no setting of the run or table worked.
Result<NodeMeasurement> measure_node(const RunRecord& run);
Result<NodeMeasurement> measure_node(const RecordedTable& table, const std::string& name);

// The same for every setting of one node that worked, that of measure_node first. A run under a
// latency target has one: only its proved rate is claimed.
Result<std::vector<NodeMeasurement>> measure_settings(const RunRecord& run);
Result<std::vector<NodeMeasurement>> measure_settings(const RecordedTable& table,
                                                      const std::string& name);

// Relative standard deviation between machines of one kind, and between days of one machine: what
// the repeats of one run do not show. Assumed, and said with every plan.
inline constexpr double kAssumedSpread = 0.25;  // of service times, where none was recorded
inline constexpr double kMachineSpread = 0.02, kDaySpread = 0.02;
// These are not known of this kind of machine: the logarithm of what they are here, over what is
// assumed, has this standard deviation.
inline constexpr double kSpreadDoubt = 0.4;
double draw_spread(Random& random);  // a factor of the assumed spreads

// Of the speed of a fleet on one day from that of one machine on another.
double speed_error();

// The node's rate, and its relative standard error: of the stated 95 % interval, or of the repeats.
double centre_of(const NodeMeasurement& node);
double rate_error(const NodeMeasurement& node);

// A machine of so many times the speed that the node's rate states.
QueueModel queue_of(const NodeMeasurement& node, double speed);

double normal_quantile(double share);  // the normal deviate that this share lies below

// Cores that count for planning: measured ones, but never fewer than the physical cores that may be
// used, since a measurement beside other load finds fewer. 0: unknown.
double planning_cores(const Machine& machine);

}  // namespace ocrtune
