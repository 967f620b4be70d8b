// The chosen setting of one host beside the same, or else the fastest, on several. Rates are those
// of the run's fit; bytes are what the network carried in a trial.
#include "tuner/verdict/hosts_needed.h"

#include <cmath>

#include "trial/workloads/command/command_fill.h"

namespace ocrtune {
namespace {

double rate(const Setting& setting) { return setting.summary.samples_per_second.median; }

// The chosen setting's own on most hosts, else the fastest of several.
const Setting* of_several(const Setting& chosen, const std::vector<Setting>& settings) {
  const Setting* found = nullptr;
  for (const Setting& setting : settings) {
    const int nodes = nodes_of(setting.summary.knobs);
    if (nodes < 2 || !setting.works()) continue;
    const bool own = setting.summary.knobs == on_nodes(chosen.summary.knobs, nodes);
    if (own) return &setting;
    if (found == nullptr || rate(setting) > rate(*found)) found = &setting;
  }
  return found;
}

}  // namespace

HostsNeeded hosts_needed(const Setting& chosen, const std::vector<Setting>& settings) {
  HostsNeeded needed;
  if (nodes_of(chosen.summary.knobs) > 1 || !(rate(chosen) > 0)) return needed;
  const Setting* several = of_several(chosen, settings);
  if (several == nullptr || !(rate(*several) > 0)) return needed;
  const Setting* alone = find_setting(settings, on_nodes(several->summary.knobs, 1));
  const double alone_rate = alone != nullptr && alone->works() ? rate(*alone) : rate(chosen);
  const int nodes = nodes_of(several->summary.knobs);
  const double compute = 1 / (nodes * alone_rate);
  const double exposed = 1 / rate(*several) - compute, allowed = 1 / rate(chosen) - compute;
  // Even as it is, or lost whatever the network does: compute alone takes longer than one host.
  if (exposed <= allowed || allowed <= 0) return needed;
  needed.nodes = nodes;
  needed.exposed_share = exposed * rate(*several);
  needed.allowed_share = allowed * rate(chosen);
  needed.times_faster = exposed / allowed;
  // All bytes went through in the exposed share of the time, at worst.
  needed.bytes_per_second = several->summary.network_bytes_per_second / needed.exposed_share;
  return needed;
}

Reason one_host_reason(const Setting& chosen, const std::vector<Setting>& settings) {
  constexpr double kBytesOfGbit = 1e9 / 8;
  const HostsNeeded needed = hosts_needed(chosen, settings);
  if (needed.nodes == 0) return {};
  if (needed.bytes_per_second == 0) {
    return reason<ReasonCode::one_host_is_faster_unknown>(
        counted(needed.nodes), in_percent(needed.exposed_share), in_percent(needed.allowed_share));
  }
  const double gbit = needed.bytes_per_second / kBytesOfGbit;
  constexpr int kDigits = 2;
  return reason<ReasonCode::one_host_is_faster>(
      counted(needed.nodes), in_percent(needed.exposed_share),
      general(gbit * needed.times_faster, kDigits), general(gbit, kDigits),
      counted(static_cast<std::int64_t>(std::ceil(needed.times_faster))));
}

}  // namespace ocrtune
