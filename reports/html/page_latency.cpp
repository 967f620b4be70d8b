// A run's own loads and a document of `ocrtune slo` become one LatencyDocument. Open loads, which
// come at a rate, are drawn by rate; closed ones, which keep a number in flight, by that number.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "base/stats.h"
#include "base/text.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/verdict.h"
#include "reports/html/page_sections.h"
#include "reports/markup/page_markup.h"
#include "reports/markup/svg.h"
#include "trial/workloads/service/slo.h"

namespace ocrtune {
namespace {

// Narrow, so that a phone shows all of it.
constexpr double kWidth = 420, kHeight = 270, kLeft = 48, kRight = 34, kTop = 28, kBottom = 40;
constexpr double kFromZero = 0.3;  // the axis of rates starts at 0 where one is so much lower

std::string number(double value) { return html_text(format_count(value)); }

std::string milliseconds(double seconds) { return seconds > 0 ? milliseconds_text(seconds) : "–"; }

const char* verdict_phrase(const std::string& verdict) {
  return verdict == "kept" ? "met" : verdict == "broken" ? "missed" : "undecided";
}

struct Percentile {
  const char* name;
  double LoadPoint::*seconds;
};
constexpr Percentile kPercentiles[] = {{"p50", &LoadPoint::p50_seconds},
                                       {"p95", &LoadPoint::p95_seconds},
                                       {"p99", &LoadPoint::p99_seconds}};

// "20/s: p50 10 ms, p95 25 ms, p99 31 ms"
std::string point_text(const LoadPoint& point) {
  std::vector<std::string> texts;
  for (const Percentile& one : kPercentiles) {
    if (point.*one.seconds <= 0) continue;
    texts.push_back(fmt::format("{} {} ms", one.name, milliseconds(point.*one.seconds)));
  }
  return fmt::format("{}/s: {}", format_count(point.requests_per_second), join(texts, ", "));
}

std::string points_text(const std::vector<LoadPoint>& points) {
  std::vector<std::string> texts;
  for (const LoadPoint& point : points) texts.push_back(point_text(point));
  return join(texts, "; ");
}

// Open loads by rate, the closed ones by their number in flight.
std::vector<LoadPoint> ordered(std::vector<LoadPoint> points) {
  std::stable_sort(points.begin(), points.end(), [](const LoadPoint& a, const LoadPoint& b) {
    return a.in_flight != b.in_flight ? a.in_flight < b.in_flight
                                      : a.requests_per_second < b.requests_per_second;
  });
  return points;
}

std::vector<LoadPoint> closed_points(const LatencyDocument& latency) {
  std::vector<LoadPoint> points;
  std::copy_if(latency.points.begin(), latency.points.end(), std::back_inserter(points),
               [](const LoadPoint& point) { return point.in_flight > 0 && point.requests > 0; });
  return ordered(points);
}

// Requests that came at a rate; where nobody sent such, those of the closed load.
std::vector<LoadPoint> rate_points(const LatencyDocument& latency) {
  std::vector<LoadPoint> points;
  std::copy_if(latency.points.begin(), latency.points.end(), std::back_inserter(points),
               [](const LoadPoint& point) { return point.in_flight == 0; });
  return points.empty() ? closed_points(latency) : ordered(points);
}

class LatencyDrawing {
 public:
  explicit LatencyDrawing(const LatencyDocument& latency)
      : latency_(latency),
        points_(rate_points(latency)),
        svg_(kWidth, kHeight,
             say_attribute("aria-label", "Latency by rate: {}", {points_text(points_)})) {
    double rate = 0, slowest = 1e9, low = 1e9, high = latency.slo_seconds;
    for (const LoadPoint& point : points_) {
      rate = std::max(rate, point.requests_per_second);
      slowest = std::min(slowest, point.requests_per_second);
      for (const double seconds :
           {point.latency_seconds, point.p50_seconds, point.p95_seconds, point.p99_seconds}) {
        if (seconds <= 0) continue;
        low = std::min(low, seconds);
        high = std::max(high, seconds);
      }
    }
    const double first = slowest < kFromZero * rate ? 0 : 0.95 * slowest;
    rate_ = {first, std::max(rate, 1e-9), kLeft, kWidth - kLeft - kRight, false};
    if (high <= 0) low = high = 1;  // no latency is known, and the axis has a logarithm
    seconds_ = {std::min(low, high) * 0.8, high * 1.3, kHeight - kBottom,
                -(kHeight - kBottom - kTop), true};
  }

  std::string draw() {
    draw_axes();
    if (latency_.slo_seconds > 0) {
      const double y = seconds_.at(latency_.slo_seconds);
      svg_.line(kLeft, y, kWidth - kRight, y, "limit");
      svg_.text(kLeft + 4, y - 4, say_sentence(plain_line(latency_.slo, 100), "tspan"), "tick");
    }
    for (const Percentile& one : kPercentiles) draw_curve(one);
    for (const LoadPoint& point : points_) draw_verdict(point);
    return svg_.markup();
  }

 private:
  void draw_axes() {
    // Decades are counted in whole numbers: adding up fractions would miss the last tick.
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
    for (const double tick : round_ticks(rate_.low, rate_.high, 5)) {
      if (tick > rate_.high) continue;
      svg_.text(rate_.at(tick), kHeight - kBottom + 16, fmt::format("{:g}", tick), "tick",
                Svg::Anchor::middle);
    }
    svg_.text(kWidth - kRight, kHeight - 6, say("requests/s →", {}, "tspan"), "axis",
              Svg::Anchor::end);
    svg_.text(4, 14, say("latency in ms, logarithmic", {}, "tspan"), "axis");
  }

  void draw_curve(const Percentile& one) {
    std::string path;
    double x = 0, y = 0;
    for (const LoadPoint& point : points_) {
      if (point.*one.seconds <= 0) continue;
      x = rate_.at(point.requests_per_second);
      y = seconds_.at(point.*one.seconds);
      fmt::format_to(std::back_inserter(path), "{}{:.4g} {:.4g}", path.empty() ? "M" : "L", x, y);
      svg_.circle(x, y, 2.2, "load-dot", html_text(point_text(point)));
    }
    if (path.empty()) return;
    svg_.path(path, std::string("load ") + one.name);
    svg_.text(x + 7, free_of_labels(y) + 4, one.name, "tick");
  }

  // Labels at one place stand above each other, the higher percentile on top.
  double free_of_labels(double y) {
    constexpr double kLine = 12;
    if (labelled_y_ > 0) y = std::min(y, labelled_y_ - kLine);
    labelled_y_ = y;
    return y;
  }

  // At the percentile of the target.
  void draw_verdict(const LoadPoint& point) {
    if (point.verdict.empty() || point.latency_seconds <= 0) return;
    const double x = rate_.at(point.requests_per_second), y = seconds_.at(point.latency_seconds);
    const std::string css = std::string("slo ") + verdict_phrase(point.verdict);
    const std::string title = html_text(point_text(point));
    if (point.verdict == "broken") {
      svg_.path(fmt::format("M{:.4g} {:.4g}l8 8m0 -8l-8 8", x - 4, y - 4), css, title);
    } else {
      svg_.circle(x, y, 4.2, css, title);
    }
  }

  const LatencyDocument& latency_;
  std::vector<LoadPoint> points_;
  Scale rate_, seconds_;
  double labelled_y_ = 0;
  Svg svg_;
};

// How much comes back with so many requests in flight.
class InFlightDrawing {
 public:
  explicit InFlightDrawing(const std::vector<LoadPoint>& points)
      : points_(points),
        svg_(kWidth, kHeight,
             say_attribute("aria-label", "Rate by requests in flight: {}", {text(points)})) {
    double rate = 0;
    for (const LoadPoint& point : points) rate = std::max(rate, point.requests_per_second);
    rate_ = {0, std::max(rate, 1e-9) * 1.08, kHeight - kBottom, -(kHeight - kBottom - kTop), false};
    in_flight_ = {static_cast<double>(points.front().in_flight),
                  static_cast<double>(points.back().in_flight), kLeft + 8,
                  kWidth - kLeft - kRight - 16, true};
  }

  std::string draw() {
    for (const double tick : round_ticks(0, rate_.high, 5)) {
      svg_.line(kLeft, rate_.at(tick), kWidth - kRight, rate_.at(tick), "grid");
      svg_.text(kLeft - 6, rate_.at(tick) + 4, fmt::format("{:g}", tick), "tick", Svg::Anchor::end);
    }
    std::string path;
    double labelled = -1e9;
    for (const LoadPoint& point : points_) {
      const double x = in_flight_.at(point.in_flight), y = rate_.at(point.requests_per_second);
      fmt::format_to(std::back_inserter(path), "{}{:.4g} {:.4g}", path.empty() ? "M" : "L", x, y);
      if (x - labelled < 20) continue;
      labelled = x;
      svg_.text(x, kHeight - kBottom + 16, fmt::format("{}", point.in_flight), "tick",
                Svg::Anchor::middle);
    }
    svg_.path(path, "load p99");
    for (const LoadPoint& point : points_) {
      svg_.circle(in_flight_.at(point.in_flight), rate_.at(point.requests_per_second), 3.4,
                  point.late > 0 ? "slo undecided" : "slo met",
                  fmt::format("{}: {}", point.in_flight, html_text(point_text(point))));
    }
    svg_.text(kWidth - kRight, kHeight - 6, say("requests in flight, logarithmic →", {}, "tspan"),
              "axis", Svg::Anchor::end);
    svg_.text(4, 14, say("requests/s", {}, "tspan"), "axis");
    return svg_.markup();
  }

 private:
  static std::string text(const std::vector<LoadPoint>& points) {
    std::vector<std::string> texts;
    for (const LoadPoint& point : points) {
      texts.push_back(
          fmt::format("{}: {}/s", point.in_flight, format_count(point.requests_per_second)));
    }
    return join(texts, "; ");
  }

  const std::vector<LoadPoint>& points_;
  Scale rate_, in_flight_;
  Svg svg_;
};

std::string figures_html(const LatencyDocument& latency) {
  std::string figures;
  const std::vector<LoadPoint> rates = rate_points(latency), closed = closed_points(latency);
  if (rates.size() > 1) {
    const bool judged = !rates.front().verdict.empty();
    figures += figure_html(
        say(judged ? "Latency at each rate: p50, p95, p99; at the percentile of the target ● met, "
                     "× missed, ○ undecided."
                   : "Latency at each rate that came back: p50, p95, p99."),
        LatencyDrawing(latency).draw(), "latency");
  }
  if (closed.size() > 1) {
    figures += figure_html(
        say("Rate with so many requests in flight all the time: ● all answered, ○ some were not."),
        InFlightDrawing(closed).draw(), "latency");
  }
  return figures.empty() ? "" : "<div class=\"pair\">" + figures + "</div>\n";
}

std::string facts_html(const LatencyDocument& latency) {
  std::string facts;
  if (latency.ready_seconds > 0) {
    facts += fact_html("Time to ready", say_text(duration_text(latency.ready_seconds)),
                       say("from its start to the first answer"));
  }
  if (latency.alone_seconds > 0) {
    facts += fact_html("One request alone", say_text(duration_text(latency.alone_seconds)));
  }
  return facts.empty() ? "" : "<dl class=\"facts\">" + facts + "</dl>\n";
}

std::string loads_table(const LatencyDocument& latency) {
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const LoadPoint& point) {
    rows.push_back({point.in_flight > 0 ? fmt::format("{}", point.in_flight) : "–",
                    number(point.requests_per_second),
                    point.verdict.empty() ? "–" : say(verdict_phrase(point.verdict)),
                    milliseconds(point.p50_seconds), milliseconds(point.p95_seconds),
                    milliseconds(point.p99_seconds), fmt::format("{}", point.requests),
                    fmt::format("{}", point.late)});
  };
  for (const LoadPoint& point : ordered(latency.points)) add(point);
  if (rows.empty()) return "";
  return details_html("All loads that were tried",
                      table_html({"#in flight", "#requests/s", "target", "#p50 in ms", "#p95 in ms",
                                  "#p99 in ms", "#requests", "#late or failed"},
                                 rows, "compact"));
}

}  // namespace

std::optional<LatencyDocument> latency_of(const RunRecord& run) {
  const Trial* best = nullptr;
  for (const Trial& trial : run.trials) {
    if (trial.service.loads.empty()) continue;
    // Without a recommendation any trial with loads will do.
    if (run.result.found && trial.knobs != run.result.recommendation.knobs) continue;
    const auto more = [](const Trial& one) { return one.service.loads.size(); };
    // The trial with the most loads tells the most; of equal ones the last.
    if (best == nullptr || more(trial) >= more(*best)) best = &trial;
  }
  if (best == nullptr) return std::nullopt;
  LatencyDocument latency;
  latency.points = best->service.loads;
  latency.ready_seconds = best->start_seconds;
  latency.alone_seconds = best->service.alone_seconds;
  if (const auto slo = parse_slo(run.job.slo()); slo) {
    latency.slo = slo_target(*slo);
    latency.slo_seconds = slo->seconds;
  }
  return latency;
}

std::string latency_section(const LatencyDocument& latency) {
  std::string body;
  if (!latency.answer.empty()) {
    body += "<p class=\"verdict\">" + say_sentence(plain_line(latency.answer, 2000)) + "</p>\n";
  }
  body += figures_html(latency) + facts_html(latency) + loads_table(latency);
  return section_html("latency", "Latency against rate", body);
}

}  // namespace ocrtune
