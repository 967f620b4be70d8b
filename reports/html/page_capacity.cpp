#include "reports/html/page_capacity.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/verdict.h"
#include "reports/markup/page_markup.h"
#include "reports/markup/svg.h"
#include "trial/workloads/service/slo.h"

namespace ocrtune {
namespace {

constexpr double kWidth = 560, kHeight = 260, kLeft = 56, kRight = 16, kTop = 28, kBottom = 40;

std::string number(double value) { return html_text(format_count(value)); }

std::string milliseconds(double seconds) { return seconds > 0 ? milliseconds_text(seconds) : "–"; }

std::string rows_table(const CapacityDocument& capacity) {
  const auto any = [&](auto value) {
    return std::any_of(capacity.rows.begin(), capacity.rows.end(),
                       [&](const auto& row) { return value(row) >= 0; });
  };
  const bool busy = any([](const auto& row) { return row.busy_share; });
  const bool latency = any([](const auto& row) { return row.latency_seconds; });
  const bool time = any([](const auto& row) { return row.seconds; });
  const bool cost = any([](const auto& row) { return row.cost_per_hour; });
  std::vector<std::string> headings = {"#Machines", "#images/s"};
  if (busy) headings.emplace_back("#busy");
  if (latency) headings.emplace_back("#latency in ms");
  if (time) headings.emplace_back("#takes");
  headings.emplace_back("#holds");
  if (cost) headings.emplace_back("#cost an hour");
  headings.emplace_back("");
  std::vector<std::vector<std::string>> rows;
  for (const auto& row : capacity.rows) {
    std::vector<std::string> cells = {fmt::format("{}", row.machines),
                                      html_text(rate_text(row.samples_per_second))};
    if (busy) cells.push_back(row.busy_share < 0 ? "–" : html_text(format_percent(row.busy_share)));
    if (latency) cells.push_back(milliseconds(row.latency_seconds));
    if (time) cells.push_back(row.seconds < 0 ? "–" : say_text(duration_text(row.seconds)));
    cells.push_back(fmt::format("{:.0f} %", 100 * row.probability));
    if (cost)
      cells.push_back(row.cost_per_hour < 0 ? "–" : fmt::format("{:.2f}", row.cost_per_hour));
    cells.push_back(row.machines == capacity.machines         ? "<b>" + say("enough") + "</b>"
                    : row.machines == capacity.spare_machines ? say("with one to spare")
                                                              : "");
    rows.push_back(std::move(cells));
  }
  return table_html(headings, rows, "compact");
}

std::string kinds_table(const CapacityDocument& capacity) {
  if (capacity.kinds.empty()) return "";
  const auto known = [](double value, const char* format) {
    return value < 0 ? std::string("–") : fmt::format(fmt::runtime(format), value);
  };
  std::vector<std::vector<std::string>> rows;
  for (const auto& kind : capacity.kinds) {
    rows.push_back({machine_text(plain_line(kind.name)), machine_text(plain_line(kind.machine)),
                    known(kind.machines, "{:g}"), known(kind.cost_per_hour, "{:.2f}"),
                    known(kind.cost_per_million, "{:.3g}")});
  }
  return "<h3>" + say("Kinds of machine") + "</h3>" +
         table_html({"Kind", "Machine", "#Machines", "#cost an hour", "#cost of a million"}, rows,
                    "compact");
}

std::string tests_table(const CapacityDocument& capacity) {
  if (capacity.back_tests.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const auto& test : capacity.back_tests) {
    rows.push_back({fmt::format("{:g}", test.at),
                    html_text(rate_text({test.predicted, test.low, test.high})),
                    number(test.measured), fmt::format("{:+.1f} %", 100 * test.error)});
  }
  return "<h3>" + say("Back-test: fitted on the smaller counts, asked for the larger") + "</h3>" +
         table_html({"#Processes or machines", "#predicted", "#measured", "#error"}, rows,
                    "compact");
}

std::string year_part(const CapacityDocument& capacity) {
  if (capacity.year.empty()) return "";
  std::string html = "<h3>" + say("The year ahead") + "</h3>";
  for (const std::string& sentence : capacity.year) {
    html += "<p>" + say_sentence(plain_line(sentence, 2000)) + "</p>";
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& month : capacity.months) {
    rows.push_back({fmt::format("{}", month.month),
                    fmt::format("{}+{}", month.machines, month.spares), number(month.fixed_hours),
                    number(month.scaled_hours), fmt::format("{:.2g}", month.risk_hours)});
  }
  return html + table_html({"#Month", "#Machines and spares", "#machine hours, fixed",
                            "#machine hours, scaled", "#hours at risk, scaled"},
                           rows, "compact");
}

std::string store_part(const CapacityDocument& capacity) {
  if (capacity.store_answer.empty()) return "";
  std::string html = "<h3>" + say("Back-test: stored runs against each other") + "</h3><p>" +
                     say_sentence(plain_line(capacity.store_answer, 1000)) + "</p>";
  std::vector<std::vector<std::string>> rows;
  for (const auto& test : capacity.store_tests) {
    rows.push_back({say(plain_line(test.figure)), html_text(plain_line(test.from)),
                    html_text(plain_line(test.against)), html_text(plain_line(test.knobs)),
                    html_text(rate_text(test.predicted)), number(test.measured),
                    fmt::format("{:+.1f} %", 100 * test.error),
                    say(test.held ? "held" : "outside")});
  }
  if (rows.empty()) return html;
  return html + table_html({"figure", "from", "against", "Setting", "#predicted", "#measured",
                            "#error", "90 % interval"},
                           rows, "compact");
}

const char* verdict_phrase(const std::string& verdict) {
  return verdict == "kept" ? "met" : verdict == "broken" ? "missed" : "undecided";
}

// "20/s: 31 ms, kept; 40/s: 95 ms, broken"
std::string points_text(const LatencyDocument& latency) {
  std::vector<std::string> texts;
  for (const auto& point : latency.points) {
    texts.push_back(fmt::format("{}/s: {} ms, {}", format_count(point.requests_per_second),
                                milliseconds(point.latency_seconds),
                                verdict_phrase(point.verdict)));
  }
  return join(texts, "; ");
}

class LatencyDrawing {
 public:
  explicit LatencyDrawing(const LatencyDocument& latency)
      : latency_(latency),
        svg_(kWidth, kHeight,
             say_attribute("aria-label", "Latency by rate: {}", {points_text(latency)})) {
    double rate = 0, low = 1e9, high = latency.slo_seconds;
    for (const auto& point : latency.points) {
      rate = std::max(rate, point.requests_per_second);
      for (const double seconds : {point.latency_seconds, point.median_seconds}) {
        if (seconds <= 0) continue;
        low = std::min(low, seconds);
        high = std::max(high, seconds);
      }
    }
    rate_ = {0, std::max(rate, 1e-9) * 1.05, kLeft, kWidth - kLeft - kRight, false};
    seconds_ = {std::min(low, high) * 0.8, high * 1.3, kHeight - kBottom,
                -(kHeight - kBottom - kTop), true};
  }

  std::string draw() {
    draw_axes();
    if (latency_.slo_seconds > 0) {
      const double y = seconds_.at(latency_.slo_seconds);
      svg_.line(kLeft, y, kWidth - kRight, y, "limit");
      svg_.text(kLeft + 4, y - 4, html_text(plain_line(latency_.slo, 100)), "tick");
    }
    for (const auto& point : latency_.points) draw_point(point);
    return svg_.markup();
  }

 private:
  void draw_axes() {
    const int last = static_cast<int>(std::floor(std::log10(seconds_.high)));
    for (int power = static_cast<int>(std::floor(std::log10(seconds_.low))); power <= last;
         ++power) {
      for (const double part : {1.0, 2.0, 5.0}) {
        const double at = std::pow(10, power) * part;
        if (at < seconds_.low || at > seconds_.high) continue;
        svg_.line(kLeft, seconds_.at(at), kWidth - kRight, seconds_.at(at), "grid");
        svg_.text(kLeft - 6, seconds_.at(at) + 4, milliseconds(at), "tick", Svg::Anchor::end);
      }
    }
    for (const double tick : round_ticks(0, rate_.high, 6)) {
      if (tick > rate_.high) continue;
      svg_.text(rate_.at(tick), kHeight - kBottom + 16, number(tick), "tick", Svg::Anchor::middle);
    }
    svg_.text(kWidth - kRight, kHeight - 6, say("requests/s →", {}, "tspan"), "axis",
              Svg::Anchor::end);
    svg_.text(4, 14, say("latency in ms, logarithmic", {}, "tspan"), "axis");
  }

  void draw_point(const LatencyDocument::Point& point) {
    const double x = rate_.at(point.requests_per_second);
    const std::string title =
        fmt::format("{}/s: {} ms, p50 {} ms", number(point.requests_per_second),
                    milliseconds(point.latency_seconds), milliseconds(point.median_seconds));
    if (point.latency_seconds > 0 && point.median_seconds > 0) {
      svg_.line(x, seconds_.at(point.median_seconds), x, seconds_.at(point.latency_seconds),
                "whisker");
    }
    if (point.median_seconds > 0) svg_.circle(x, seconds_.at(point.median_seconds), 2.4, "dot");
    if (point.latency_seconds <= 0) return;
    const double y = seconds_.at(point.latency_seconds);
    const std::string css = std::string("slo ") + verdict_phrase(point.verdict);
    if (point.verdict == "broken") {
      svg_.path(fmt::format("M{:.4g} {:.4g}l8 8m0 -8l-8 8", x - 4, y - 4), css, title);
    } else {
      svg_.circle(x, y, 4.2, css, title);
    }
  }

  const LatencyDocument& latency_;
  Scale rate_, seconds_;
  Svg svg_;
};

}  // namespace

std::string capacity_section(const CapacityDocument& capacity) {
  std::string body;
  if (capacity.extrapolated) {
    body += "<p class=\"badges-inline\"><span class=\"badge warning\">" + say("EXTRAPOLATED") +
            "</span></p>";
  }
  body += "<p class=\"verdict\">" + say_sentence(plain_line(capacity.answer, 2000)) + "</p>\n";
  if (!capacity.rows.empty()) body += rows_table(capacity);
  body += kinds_table(capacity);
  if (capacity.valid_high > 0) {
    body += "<p class=\"note\">" +
            say("From {}; valid for {} to {} {2:machine|machines}: {}",
                {say_sentence(plain_line(capacity.source)), fmt::format("{:g}", capacity.valid_low),
                 fmt::format("{:g}", capacity.valid_high),
                 say_sentence(plain_line(capacity.valid_reason))}) +
            "</p>\n";
  }
  body += tests_table(capacity);
  body += store_part(capacity);
  body += year_part(capacity);
  std::string notes;
  for (const std::string& note : capacity.notes) {
    notes += "<li>" + say_sentence(plain_line(note, 1000)) + "</li>";
  }
  if (!notes.empty()) body += "<h3>" + say("Assumptions") + "</h3><ul>" + notes + "</ul>\n";
  return section_html("capacity", "Capacity", body);
}

std::string latency_section(const LatencyDocument& latency) {
  std::string body =
      "<p class=\"verdict\">" + say_sentence(plain_line(latency.answer, 2000)) + "</p>\n";
  if (latency.points.size() > 1) {
    body += figure_html(
        say("Latency at each rate tried, at the percentile of the target: ● met, × missed, ○ "
            "undecided; the small dot below is the median."),
        LatencyDrawing(latency).draw(), "latency");
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& point : latency.points) {
    rows.push_back({number(point.requests_per_second), say(verdict_phrase(point.verdict)),
                    milliseconds(point.latency_seconds), milliseconds(point.median_seconds),
                    fmt::format("{:g}", point.judged), fmt::format("{:g}", point.over)});
  }
  if (!rows.empty()) {
    body += table_html(
        {"#requests/s", "target", "#latency in ms", "#median in ms", "#requests", "#too late"},
        rows, "compact");
  }
  return section_html("latency", "Latency against rate", body);
}

}  // namespace ocrtune
