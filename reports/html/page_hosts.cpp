// Settings are grouped by their number of hosts, and the fastest of each stands for it. The share
// that is lost to the network compares it with the same setting on one host.
#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/verdict.h"
#include "reports/html/page_sections.h"
#include "reports/markup/page_markup.h"
#include "trial/workloads/command/command_fill.h"

namespace ocrtune {
namespace {

constexpr double kBytesOfMbit = 1e6 / 8;

double rate(const SettingSummary& setting) { return setting.samples_per_second.median; }

// Of N hosts with rate S, where one alone has s: 1 - S / (N s), see tuner/verdict/hosts_needed.h.
std::string network_share(const SettingSummary& several, const std::vector<SettingSummary>& all) {
  const int nodes = nodes_of(several.knobs);
  const Knobs alone = on_nodes(several.knobs, 1);
  for (const SettingSummary& one : all) {
    if (!(one.knobs == alone) || !(rate(one) > 0)) continue;
    const double share = 1 - rate(several) / (nodes * rate(one));
    return html_text(format_percent(std::max(share, 0.0)));
  }
  return "–";
}

// The fastest setting of each count of hosts.
std::string counts_table(const std::vector<SettingSummary>& settings) {
  std::map<int, const SettingSummary*> best;
  for (const SettingSummary& setting : settings) {
    if (!(rate(setting) > 0)) continue;
    const SettingSummary*& at = best[nodes_of(setting.knobs)];
    if (at == nullptr || rate(setting) > rate(*at)) at = &setting;
  }
  if (best.empty() || best.rbegin()->first < 2) return "";
  std::vector<std::vector<std::string>> rows;
  for (const auto& [nodes, setting] : best) {
    const double sent = setting->network_bytes_per_second / kBytesOfMbit;
    rows.push_back({fmt::format("{}", nodes), knobs_html(setting->knobs),
                    html_text(rate_text(setting->samples_per_second)),
                    nodes == 1 ? "–" : network_share(*setting, settings),
                    nodes == 1 || sent == 0 ? "–" : fmt::format("{:.0f}", sent)});
  }
  return table_html(
      {"#Hosts", "Fastest setting", "#Rate", "#network and waiting", "#Mbit/s sent by the first"},
      rows);
}

}  // namespace

std::string hosts_section(const RunRecord& run) {
  const std::string table = counts_table(run.result.settings);
  return table.empty() ? "" : section_html("hosts", "Hosts", table);
}

}  // namespace ocrtune
