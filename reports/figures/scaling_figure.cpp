// The constructor settles the scales from all points, then axes, ideal, dots, curve and marks are
// drawn over each other in this order.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/headline.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/verdict.h"
#include "reports/figures/figures.h"
#include "reports/markup/page_markup.h"
#include "reports/markup/svg.h"

namespace ocrtune {
namespace {

constexpr double kScalingWidth = 420, kScalingHeight = 250;
constexpr double kScalingLeft = 50, kScalingRight = 12, kScalingTop = 26, kScalingBottom = 38;

struct Point {
  int value = 0;
  const SettingSummary* setting = nullptr;
};

std::vector<Point> measured_points(const TuneResult& result, const KnobRow& row) {
  std::vector<Point> points;
  for (const SettingSummary& setting : result.settings) {
    if (setting.samples_per_second.median > 0) {
      points.push_back({setting.knobs.*row.number, &setting});
    }
  }
  return points;
}

std::map<int, const SettingSummary*> best_of_each(const std::vector<Point>& points) {
  std::map<int, const SettingSummary*> best;
  for (const Point& point : points) {
    const SettingSummary*& at = best[point.value];
    if (at == nullptr || point.setting->samples_per_second.median > at->samples_per_second.median) {
      at = point.setting;
    }
  }
  return best;
}

class ScalingDrawing {
 public:
  ScalingDrawing(const RunRecord& run, const KnobRow& row, const std::vector<Point>& points)
      : run_(run),
        row_(row),
        points_(points),
        best_(best_of_each(points)),
        svg_(kScalingWidth, kScalingHeight,
             say_attribute("aria-label", "Best rate by {}: {}",
                           {std::string(row.name), best_text()})) {
    double highest = 0;
    for (const Point& point : points) {
      highest = std::max(highest, point.setting->samples_per_second.high);
    }
    // The ideal may rise above the data, but not so far that the data becomes flat.
    if (shows_ideal()) highest = std::clamp(ideal(best_.rbegin()->first), highest, 1.6 * highest);
    rate_ = {0, highest * 1.06, kScalingHeight - kScalingBottom,
             -(kScalingHeight - kScalingBottom - kScalingTop), false};
    // Zero loader workers have a place left of one on a logarithmic axis.
    low_ = best_.begin()->first == 0 ? 0.5 : best_.begin()->first;
    value_ = {low_, static_cast<double>(best_.rbegin()->first), kScalingLeft + 16,
              kScalingWidth - kScalingLeft - kScalingRight - 32, true};
  }

  std::string draw() {
    draw_axes();
    if (shows_ideal()) draw_ideal();
    for (const Point& point : points_) {
      svg_.circle(x(point.value), rate_.at(point.setting->samples_per_second.median), 1.8, "dot");
    }
    std::string path;
    for (const auto& [value, setting] : best_) {
      fmt::format_to(std::back_inserter(path), "{}{:.4g} {:.4g}", path.empty() ? "M" : "L",
                     x(value), rate_.at(setting->samples_per_second.median));
    }
    svg_.path(path, "curve");
    for (const auto& [value, setting] : best_) draw_mark(value, *setting);
    return svg_.markup();
  }

 private:
  // "1: 109.9, 2: 198.6"
  std::string best_text() const {
    std::vector<std::string> texts;
    for (const auto& [value, setting] : best_) {
      texts.push_back(
          fmt::format("{}: {}", value, format_count(setting->samples_per_second.median)));
    }
    return join(texts, ", ");
  }

  bool shows_ideal() const { return std::string_view(row_.name) == "nproc"; }
  double ideal(double value) const {  // perfect scaling from the fewest processes
    return best_.begin()->second->samples_per_second.median * value /
           std::max(best_.begin()->first, 1);
  }

  double x(int value) const { return value_.at(std::max<double>(value, low_)); }

  void draw_axes() {
    for (const double tick : round_ticks(0, rate_.high, 5)) {
      svg_.line(kScalingLeft, rate_.at(tick), kScalingWidth - kScalingRight, rate_.at(tick),
                "grid");
      svg_.text(kScalingLeft - 6, rate_.at(tick) + 4, fmt::format("{:g}", tick), "tick",
                Svg::Anchor::end);
    }
    double last = -1e9;
    for (const auto& [value, setting] : best_) {
      // A number needs about 20 pixels; one that would overlap is left out.
      if (x(value) - last < 20) continue;
      last = x(value);
      svg_.text(last, kScalingHeight - kScalingBottom + 15, fmt::format("{}", value), "tick",
                Svg::Anchor::middle);
    }
    svg_.text(kScalingWidth - kScalingRight, kScalingHeight - 6, fmt::format("{} →", row_.name),
              "axis", Svg::Anchor::end);
    svg_.text(4, 12, say(rate_unit(run_), {}, "tspan"), "axis");
  }

  // Clipped at the top of the picture.
  void draw_ideal() {
    std::string path;
    // A straight line of ideal scaling is a curve on the logarithmic axis.
    constexpr int kSteps = 48;
    for (int i = 0; i <= kSteps; ++i) {
      const double value = low_ * std::pow(value_.high / low_, static_cast<double>(i) / kSteps);
      if (ideal(value) > rate_.high) break;
      fmt::format_to(std::back_inserter(path), "{}{:.4g} {:.4g}", path.empty() ? "M" : "L",
                     value_.at(value), rate_.at(ideal(value)));
    }
    svg_.path(path, "ideal");
  }

  void draw_mark(int value, const SettingSummary& setting) {
    const Interval& rate = setting.samples_per_second;
    const double at = x(value);
    svg_.line(at, rate_.at(rate.low), at, rate_.at(rate.high), "whisker");
    svg_.line(at - 4, rate_.at(rate.low), at + 4, rate_.at(rate.low), "whisker");
    svg_.line(at - 4, rate_.at(rate.high), at + 4, rate_.at(rate.high), "whisker");
    const bool chosen = run_.result.found && setting.knobs == run_.result.recommendation.knobs;
    svg_.circle(
        at, rate_.at(rate.median), chosen ? 5.5 : 3.6, chosen ? "mark chosen-mark" : "mark",
        html_text(plain_line(knobs_text(setting.knobs)), 300) + ": " + html_text(rate_text(rate)),
        knobs_filter(setting.knobs));
  }

  const RunRecord& run_;
  const KnobRow& row_;
  const std::vector<Point>& points_;
  std::map<int, const SettingSummary*> best_;
  double low_ = 1;
  Scale rate_, value_;
  Svg svg_;
};

}  // namespace

std::string scaling_figure(const RunRecord& run, std::string_view knob) {
  const KnobRow* row = find_knob(knob);
  if (row == nullptr || row->number == nullptr) return "";
  const std::vector<Point> points = measured_points(run.result, *row);
  if (best_of_each(points).size() < 2) return "";
  std::string caption =
      say("Best rate at each {}, with its 95 % interval; small dots are other settings",
          {fmt::format("<code>{}</code>", row->name)});
  if (knob == "nproc") caption += say("; dashed: perfect scaling");
  return figure_html(caption, ScalingDrawing(run, *row, points).draw(), "scaling");
}

}  // namespace ocrtune
