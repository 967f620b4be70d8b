#include "reports/html/page_latency.h"

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
