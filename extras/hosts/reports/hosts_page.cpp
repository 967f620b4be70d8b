// Reads the JSON that hosts_text.cpp writes, as any file of an earlier version: what lacks is left
// out, and every text is escaped.
#include "extras/hosts/reports/hosts_page.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/html/document_fields.h"
#include "reports/markup/page_markup.h"

namespace ocrtune {
namespace {

using SurveyJson = nlohmann::json;

constexpr double kBytesOfMbit = 1e6 / 8;

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

HostsDocument read_hosts(const SurveyJson& in) {
  HostsDocument out;
  for (const SurveyJson& one : field_list(in, "speeds")) {
    out.speeds.push_back({field_text(one, "host"), field_number(one, "lines_per_second")});
  }
  for (const SurveyJson& link : field_list(in, "links")) {
    out.links.push_back({field_text(link, "from"), field_text(link, "to"),
                         field_text(link, "network"), field_text(link, "error"),
                         field_number(link, "latency_seconds"),
                         field_number(link, "bytes_per_second")});
  }
  for (const SurveyJson& one : field_list(in, "findings")) {
    out.findings.emplace_back(field_text(one, "host"), field_text(one, "text"));
  }
  for (const SurveyJson& one : field_list(in, "lost")) {
    out.lost.emplace_back(field_text(one, "host"), field_text(one, "reason"));
  }
  const SurveyJson hosts = field_object(field_object(in, "recommended_network"), "env");
  for (const auto& [host, env] : hosts.items()) {
    out.env.emplace_back(host, HostsDocument::Named{});
    for (const auto& [name, value] : env.items()) {
      if (value.is_string()) out.env.back().second.emplace_back(name, value.get<std::string>());
    }
  }
  return out;
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
      // The block is copied into a shell: no other text may come in by a name.
      if (is_variable_name(name)) lines += "export " + name + "=" + shell_quote(value) + "\n";
    }
  }
  return links_table(survey) +
         table_html({"Host", "#lines/s of the same step", "What was found"}, rows) +
         (lines.empty() ? "" : copy_block("Environment", "hosts-env", lines));
}

}  // namespace

std::string survey_section(const SurveyJson& survey) {
  return section_html("survey", "Links between hosts", survey_html(read_hosts(survey)));
}

}  // namespace ocrtune
