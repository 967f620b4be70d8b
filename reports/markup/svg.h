// Pictures drawn on the server: they need no script, follow the page's theme through CSS classes,
// and print.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ocrtune {

class Svg {
 public:
  // `attributes` name the picture for readers who cannot see it: ` aria-label="..."`.
  Svg(double width, double height, std::string attributes);

  // Titles and texts are HTML already; a title shows when the pointer rests on the shape.
  void rectangle(double x, double y, double width, double height, std::string_view css,
                 std::string_view title = "", std::string_view attributes = "");
  void circle(double x, double y, double radius, std::string_view css, std::string_view title = "",
              std::string_view attributes = "");
  void line(double x1, double y1, double x2, double y2, std::string_view css);
  void path(std::string_view commands, std::string_view css, std::string_view title = "");
  enum class Anchor { start, middle, end };
  void text(double x, double y, std::string_view html, std::string_view css,
            Anchor anchor = Anchor::start);
  void raw(std::string_view markup) { body_ += markup; }

  const std::string& body() const { return body_; }  // the shapes alone
  std::string markup() const;

 private:
  void close(std::string_view tag, std::string_view title);

  double width_, height_;
  std::string attributes_;
  std::string body_;
};

// Where values lie on an axis of `pixels` from `origin`; `logarithmic` needs values above zero.
struct Scale {
  double low = 0, high = 1;
  double origin = 0, pixels = 1;  // pixels may be negative: up
  bool logarithmic = false;

  double at(double value) const;
};

// About `wanted` round values that cover [low, high].
std::vector<double> round_ticks(double low, double high, int wanted);

}  // namespace ocrtune
