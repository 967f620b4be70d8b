#include "reports/html/page_hosts.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/verdict.h"
#include "reports/export/env_file.h"
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

std::string link_html(const HostsDocument& survey, const std::string& from, const std::string& to) {
  std::string cell;
  for (const HostsDocument::Link& link : survey.links) {
    if (link.from != from || link.to != to) continue;
    const std::string speed = fmt::format("{:.0f} Mbit/s", link.bytes_per_second / kBytesOfMbit);
    const std::string notes =
        fmt::format("{:.0f} µs, {}", link.latency_seconds * 1e6, link.network);
    cell += link.error.empty() ? fmt::format("<span class=\"level\">{}</span><small>{}</small>",
                                             speed, html_text(notes, 80))
                               : "<small>" + sentence_html(link.error) + "</small>";
  }
  return cell.empty() ? say("not measured") : cell;
}

std::string links_table(const HostsDocument& survey) {
  constexpr std::size_t kMaxHosts = 16;  // above, a matrix is no longer read
  const std::size_t count = std::min(survey.speeds.size(), kMaxHosts);
  if (count < 2 || survey.links.empty()) return "";
  std::string out =
      fmt::format("<div class=\"wide\"><table class=\"peers\"><thead><tr><th scope=\"col\">{}</th>",
                  say("from ↓ to →"));
  for (std::size_t i = 0; i < count; ++i) {
    out += "<th scope=\"col\">" + machine_text(survey.speeds[i].host) + "</th>";
  }
  out += "</tr></thead><tbody>\n";
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& from = survey.speeds[i].host;
    out += "<tr><th scope=\"row\">" + machine_text(from) + "</th>";
    for (std::size_t j = 0; j < count; ++j) {
      out += i == j
                 ? "<td class=\"self\">–</td>"
                 : "<td class=\"peer\">" + link_html(survey, from, survey.speeds[j].host) + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string survey_html(const HostsDocument& survey) {
  std::vector<std::vector<std::string>> rows;
  for (const HostsDocument::Speed& one : survey.speeds) {
    std::vector<std::string> texts;
    for (const auto& [host, text] : survey.findings) {
      if (host == one.host) texts.push_back(sentence_html(text));
    }
    rows.push_back(
        {machine_text(one.host), fmt::format("{:.1f}", one.lines_per_second), join(texts, "<br>")});
  }
  for (const auto& [host, reason] : survey.lost) {
    rows.push_back({machine_text(host), "–", sentence_html(reason)});
  }
  std::string lines;
  for (const auto& [host, env] : survey.env) {
    lines += "# " + plain_line(host, 100) + "\n";
    for (const auto& [name, value] : env) {
      if (is_variable_name(name)) lines += "export " + name + "=" + shell_quote(value) + "\n";
    }
  }
  return links_table(survey) +
         table_html({"Host", "#lines/s of the same step", "What was found"}, rows) +
         (lines.empty() ? "" : copy_block("Environment", "hosts-env", lines));
}

}  // namespace

std::string hosts_section(const RunRecord& run, const HostsDocument* survey) {
  std::string body = counts_table(run.result.settings);
  if (survey != nullptr) body += survey_html(*survey);
  return body.empty() ? "" : section_html("hosts", "Hosts", body);
}

}  // namespace ocrtune
