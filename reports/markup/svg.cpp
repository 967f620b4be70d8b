// Markup is appended as text, without a tree. Coordinates have four significant digits: pictures
// are at most about 1,000 pixels wide.
#include "reports/markup/svg.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace ocrtune {

Svg::Svg(double width, double height, std::string attributes)
    : width_(width), height_(height), attributes_(std::move(attributes)) {}

void Svg::close(std::string_view tag, std::string_view title) {
  if (title.empty()) {
    body_ += "/>";
  } else {
    fmt::format_to(std::back_inserter(body_), "><title>{}</title></{}>", title, tag);
  }
}

void Svg::rectangle(double x, double y, double width, double height, std::string_view css,
                    std::string_view title, std::string_view attributes) {
  fmt::format_to(std::back_inserter(body_),
                 "<rect x=\"{:.4g}\" y=\"{:.4g}\" width=\"{:.4g}\" height=\"{:.4g}\" "
                 "class=\"{}\"{}",
                 x, y, width, height, css, attributes);
  close("rect", title);
}

void Svg::circle(double x, double y, double radius, std::string_view css, std::string_view title,
                 std::string_view attributes) {
  fmt::format_to(std::back_inserter(body_),
                 "<circle cx=\"{:.4g}\" cy=\"{:.4g}\" r=\"{:.3g}\" class=\"{}\"{}", x, y, radius,
                 css, attributes);
  close("circle", title);
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view css) {
  fmt::format_to(std::back_inserter(body_),
                 "<line x1=\"{:.4g}\" y1=\"{:.4g}\" x2=\"{:.4g}\" y2=\"{:.4g}\" class=\"{}\"/>", x1,
                 y1, x2, y2, css);
}

void Svg::path(std::string_view commands, std::string_view css, std::string_view title) {
  fmt::format_to(std::back_inserter(body_), "<path d=\"{}\" class=\"{}\"", commands, css);
  close("path", title);
}

void Svg::text(double x, double y, std::string_view html, std::string_view css, Anchor anchor) {
  constexpr const char* kAnchors[] = {"start", "middle", "end"};
  fmt::format_to(std::back_inserter(body_),
                 "<text x=\"{:.4g}\" y=\"{:.4g}\" class=\"{}\" text-anchor=\"{}\">{}</text>", x, y,
                 css, kAnchors[static_cast<int>(anchor)], html);
}

std::string Svg::markup() const {
  return fmt::format(
      "<svg viewBox=\"0 0 {0:.4g} {1:.4g}\" width=\"{0:.4g}\" height=\"{1:.4g}\" "
      "role=\"img\"{2}>{3}</svg>",
      width_, height_, attributes_, body_);
}

double Scale::at(double value) const {
  const auto position = [this](double v) { return logarithmic ? std::log2(v) : v; };
  const double span = position(high) - position(low);
  // A single value stands in the middle of its axis.
  if (span == 0) return origin + pixels / 2;
  return origin + pixels * (position(value) - position(low)) / span;
}

std::vector<double> round_ticks(double low, double high, int wanted) {
  if (!(high > low) || wanted < 1) return {low};
  const double rough = (high - low) / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = power;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    step = factor * power;
    if (step >= rough) break;
  }
  std::vector<double> ticks;
  // The sum allows for rounding where `high` is a tick itself.
  const long last = std::lround(std::floor(high / step + 1e-9));
  for (long k = std::lround(std::ceil(low / step)); k <= last; ++k)
    ticks.push_back(static_cast<double>(k) * step);
  return ticks;
}

}  // namespace ocrtune
