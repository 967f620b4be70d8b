// A run is judged once: its page carries the row of the index in a comment before the markup, and
// the next index reads that. `report --all` gives a key of what the page was made of.
#include "reports/html/run_index.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "reports/catalogue/headline.h"
#include "reports/catalogue/plain_text.h"
#include "reports/figures/trend_figure.h"
#include "reports/html/page_frame.h"
#include "reports/markup/page_markup.h"

namespace ocrtune {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kRowStart = "<!-- ocrtune-row ", kRowEnd = " -->\n";

// In one order, to and fro.
template <class Row, class Visit>
void visit_texts(Row& row, const Visit& visit) {
  for (auto* text : {&row.id, &row.name, &row.started, &row.workload, &row.subject.english,
                     &row.subject.chinese, &row.host, &row.badge.text, &row.badge.meaning,
                     &row.answer.english, &row.answer.chinese, &row.unit, &row.setting, &row.link})
    visit(*text);
}

std::string run_cell(const IndexRow& row) {
  const std::string label = html_text(plain_line(row.name.empty() ? row.id : row.name, 100));
  const std::string run =
      row.link.empty() ? label : fmt::format("<a href=\"{}\">{}</a>", html_text(row.link), label);
  return row.name.empty() ? run : run + "<br><small>" + html_text(row.id) + "</small>";
}

std::string answer_cell(const IndexRow& row) {
  return fmt::format("<span class=\"badge {}\">{}</span> {}", tone_class(row.badge.tone),
                     say_sentence(row.badge.text), say_text(row.answer));
}

std::string rate_cell(const IndexRow& row) {
  return row.rate.median > 0 ? html_text(rate_text(row.rate)) + " " + say(row.unit) : "–";
}

std::string workload_section(const std::string& id, const std::vector<const IndexRow*>& rows) {
  std::vector<TrendPoint> points;
  std::vector<std::vector<std::string>> cells;
  for (const IndexRow* row : rows) {
    cells.push_back(
        {run_cell(*row), answer_cell(*row), rate_cell(*row), html_text(date_text(row->started))});
    if (row->workload.empty()) continue;
    points.push_back({row->started, row->rate, row->badge, row->setting, row->link});
  }
  const IndexRow& last = *rows[0];
  const std::string title =
      last.host.empty() ? say_text(last.subject)
                        : say("{} on {}", {say_text(last.subject), machine_text(last.host)});
  return titled_section(
      id, title,
      trend_figure(points, last.unit) + table_html({"Run", "Verdict", "#Rate", "Started"}, cells));
}

}  // namespace

IndexRow index_row(const RunRecord& run) {
  IndexRow row;
  row.id = run.id;
  row.name = run.name;
  row.started = run.started;
  row.subject = subject(run);
  row.host = plain_line(run.machine.host, 200);
  row.unit = rate_unit(run);
  // Where one of these differs the rates of two runs cannot be compared.
  row.workload = join({row.subject.english, run.job.program().directory, row.unit, run.job.slo(),
                       run.machine.fingerprint},
                      "\n");
  // The first badge is the verdict's.
  row.badge = badges(run)[0];
  row.answer = headline(run);
  if (run.result.found) {
    row.rate = run.result.recommendation.samples_per_second;
    row.setting = launch_knobs(run.result);
  }
  row.link = run.id + ".html";
  return row;
}

IndexRow unreadable_row(const std::string& id, const std::string& name, const std::string& started,
                        const std::string& command_line, const std::string& why) {
  IndexRow row;
  row.id = id;
  row.name = name;
  row.started = started;
  row.subject = phrase("Runs that cannot be judged");
  row.badge = {"UNKNOWN", Tone::warning, ""};
  row.answer = plain_line(command_line + ": " + why);
  return row;
}

std::string page_with_row(const IndexRow& row, const std::string& key, const std::string& page) {
  Json texts = Json::array();
  visit_texts(row, [&](const std::string& text) { texts.push_back(text); });
  const Json made = {{"key", key},
                     {"texts", texts},
                     {"tone", static_cast<int>(row.badge.tone)},
                     {"rate", {row.rate.median, row.rate.low, row.rate.high}}};
  // ASCII alone, so that reading the first kRowBytes cuts no character.
  std::string json = made.dump(-1, ' ', true, Json::error_handler_t::replace);
  for (std::size_t at = 0; (at = json.find("--", at)) != json.npos;)
    json.replace(at + 1, 1, "\\u002d");  // no text ends the comment
  return fmt::format("{}{}{}{}", kRowStart, json, kRowEnd, page);
}

std::optional<IndexRow> row_of_page(std::string_view page, const std::string& key) {
  const std::size_t end = page.find(kRowEnd);
  if (page.substr(0, kRowStart.size()) != kRowStart || end == page.npos) return std::nullopt;
  const Json made =
      Json::parse(page.substr(kRowStart.size(), end - kRowStart.size()), nullptr, false);
  try {
    if (made.at("key") != key) return std::nullopt;
    IndexRow row;
    std::size_t at = 0;
    visit_texts(row, [&](std::string& text) { made.at("texts").at(at++).get_to(text); });
    row.badge.tone = static_cast<Tone>(std::clamp(made.at("tone").get<int>(), 0, 3));
    made.at("rate").at(0).get_to(row.rate.median);
    made.at("rate").at(1).get_to(row.rate.low);
    made.at("rate").at(2).get_to(row.rate.high);
    return row;
  } catch (const Json::exception&) {
    return std::nullopt;  // somebody else's page
  }
}

std::string run_index_html(const std::vector<IndexRow>& rows, const std::string& language) {
  std::vector<std::vector<const IndexRow*>> workloads;  // the last measured first
  for (const IndexRow& row : rows) {
    auto group = std::find_if(workloads.begin(), workloads.end(), [&](const auto& other) {
      return other[0]->workload == row.workload;
    });
    if (group == workloads.end()) group = workloads.emplace(group);
    group->push_back(&row);
  }
  std::string body;
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    body += workload_section(fmt::format("workload-{}", i + 1), workloads[i]);
  }
  PageFrame frame;
  frame.language = language;
  frame.title = "ocrtune runs";
  frame.heading_html = say("{} {0:run|runs}", {fmt::format("{}", rows.size())});
  frame.line_html = say("{} {0:workload|workloads}", {fmt::format("{}", workloads.size())});
  return framed(frame, body);
}

}  // namespace ocrtune
