// Time and rate are linear. A point's colour is the tone of its badge, and each verdict that occurs
// has its key in the legend.
#include "reports/figures/trend_figure.h"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/markup/page_markup.h"
#include "reports/markup/svg.h"

namespace ocrtune {
namespace {

constexpr double kTrendWidth = 560, kTrendHeight = 190;
constexpr double kTrendLeft = 54, kTrendRight = 24, kTrendTop = 24, kTrendBottom = 34;
// An interval that reaches further than so many times the greatest rate is cut off.
constexpr double kHighest = 1.5;

double seconds_of(const std::string& utc) {
  std::tm parts{};
  // timegm() reads the parts as UTC, which is what the store writes.
  if (::strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr) return 0;
  return static_cast<double>(::timegm(&parts));
}

std::string in_link(const TrendPoint& point, const std::string& shape) {
  if (point.link.empty()) return shape;
  return fmt::format("<a href=\"{}\">{}</a>", html_text(point.link), shape);
}

// The verdict by colour and, for who does not see it, by fill: what is no answer is hollow.
std::string key_html(const Badge& badge) {
  return fmt::format(
      "<span class=\"key\"><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><circle cx=\"6\" "
      "cy=\"6\" r=\"4\" class=\"run {}\"/></svg> {}</span>",
      tone_class(badge.tone), say_sentence(badge.text));
}

class TrendDrawing {
 public:
  TrendDrawing(std::vector<TrendPoint> points, const std::string& unit)
      : points_(std::move(points)),
        unit_(unit),
        svg_(kTrendWidth, kTrendHeight,
             say_attribute("aria-label", "{} runs from {} to {}; the last has {} {}",
                           {fmt::format("{}", points_.size()), date_text(points_.front().started),
                            date_text(points_.back().started), rate_text(points_.back().rate),
                            phrase(unit)})) {
    double fastest = 0, highest = 0;
    for (const TrendPoint& point : points_) {
      fastest = std::max(fastest, point.rate.median);
      highest = std::max(highest, point.rate.high);
    }
    // Without any rate the axis still needs a length.
    const double top = std::max(1.08 * std::min(highest, kHighest * fastest), 1e-9);
    time_ = {seconds_of(points_.front().started), seconds_of(points_.back().started),
             kTrendLeft + 10, kTrendWidth - kTrendLeft - kTrendRight - 10, false};
    rate_ = {0, top, kTrendHeight - kTrendBottom, -(kTrendHeight - kTrendBottom - kTrendTop),
             false};
  }

  std::string draw() {
    for (const double tick : round_ticks(0, rate_.high, 4)) {
      svg_.line(kTrendLeft, rate_.at(tick), kTrendWidth - kTrendRight, rate_.at(tick), "grid");
      svg_.text(kTrendLeft - 6, rate_.at(tick) + 4, fmt::format("{:g}", tick), "tick",
                Svg::Anchor::end);
    }
    svg_.text(4, 12, say(unit_, {}, "tspan"), "axis");
    svg_.text(kTrendLeft, kTrendHeight - 10, html_text(date_text(points_.front().started)), "tick");
    svg_.text(kTrendWidth - kTrendRight, kTrendHeight - 10,
              html_text(date_text(points_.back().started)), "tick", Svg::Anchor::end);
    std::string curve;
    for (const TrendPoint& point : points_) {
      if (point.rate.median <= 0) continue;
      fmt::format_to(std::back_inserter(curve), "{}{:.4g} {:.4g}", curve.empty() ? "M" : "L",
                     x_of(point), rate_.at(point.rate.median));
    }
    svg_.path(curve, "ideal");
    std::map<std::string, std::string> keys;
    for (const TrendPoint& point : points_) {
      draw_point(point);
      keys.emplace(point.badge.text, key_html(point.badge));
    }
    std::string legend = say("Rate of the recommended setting, run after run, with its interval");
    for (const auto& [text, key] : keys) legend += " " + key;
    return figure_html(legend, svg_.markup(), "trend");
  }

 private:
  double x_of(const TrendPoint& point) const { return time_.at(seconds_of(point.started)); }

  void draw_point(const TrendPoint& point) {
    const double x = x_of(point);
    const Interval& rate = point.rate;
    if (rate.median > 0) {
      svg_.line(x, rate_.at(std::min(rate.low, rate_.high)), x,
                rate_.at(std::min(rate.high, rate_.high)), "whisker");
    }
    Svg mark(0, 0, "");
    const std::string words = fmt::format("{}: {} {}\n{}", date_text(point.started),
                                          rate_text(rate), unit_, point.remark);
    mark.circle(x, rate_.at(rate.median), 4.5, fmt::format("run {}", tone_class(point.badge.tone)),
                html_text(plain_text(words, 1000)));
    svg_.raw(in_link(point, mark.body()));
  }

  std::vector<TrendPoint> points_;
  std::string unit_;
  Svg svg_;
  Scale time_, rate_;
};

}  // namespace

std::string trend_figure(const std::vector<TrendPoint>& points, const std::string& unit) {
  if (points.size() < 2) return "";
  std::vector<TrendPoint> in_order = points;
  std::stable_sort(in_order.begin(), in_order.end(),
                   [](const TrendPoint& a, const TrendPoint& b) { return a.started < b.started; });
  return TrendDrawing(std::move(in_order), unit).draw();
}

}  // namespace ocrtune
