// Both pictures have the same size and axes. Data in pixels comes from Scale (markup/svg.h); the
// unit of an axis is chosen by the largest value.
#include <algorithm>
#include <iterator>
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

constexpr double kWidth = 460, kHeight = 270;
constexpr double kLeft = 54, kRight = 14, kTop = 34, kBottom = 38;
constexpr double kMiB = 1024.0 * 1024, kGiB = 1024 * kMiB;
// More dots than this hide each other and cost space in the page.
constexpr std::size_t kMaxDots = 1500;

Scale across(double low, double high) { return {low, high, kLeft, kWidth - kLeft - kRight, false}; }
Scale upwards(double high) {
  return {0, high, kHeight - kBottom, -(kHeight - kBottom - kTop), false};
}

void draw_axes(Svg& svg, const Scale& x, const Scale& y, const std::string& x_html,
               const std::string& y_html) {
  for (const double tick : round_ticks(0, y.high, 5)) {
    svg.line(kLeft, y.at(tick), kWidth - kRight, y.at(tick), "grid");
    svg.text(kLeft - 6, y.at(tick) + 4, fmt::format("{:g}", tick), "tick", Svg::Anchor::end);
  }
  for (const double tick : round_ticks(x.low, x.high, 6)) {
    svg.text(x.at(tick), kHeight - kBottom + 15, fmt::format("{:g}", tick), "tick",
             Svg::Anchor::middle);
  }
  svg.text(kWidth - kRight, kHeight - 6, x_html, "axis", Svg::Anchor::end);
  svg.text(4, 12, y_html, "axis");
}

void append_point(std::string& path, double x, double y) {
  fmt::format_to(std::back_inserter(path), "{}{:.4g} {:.4g}", path.empty() ? "M" : "L", x, y);
}

struct Dot {
  double bytes, rate;
  const SettingSummary* setting;
};

struct Step {
  const Trial* trial;
  double seconds, best;  // since the start of the run; the best rate so far
};

std::vector<Step> steps_of(const RunRecord& run) {
  std::vector<Step> steps;
  double seconds = 0, best = 0;
  for (const Trial& trial : run.trials) {
    seconds += trial.seconds;
    // A rate that rests on disturbed windows is no best rate.
    if (trial.ok() && !trial.noisy()) best = std::max(best, trial.samples_per_second);
    steps.push_back({&trial, seconds, best});
  }
  return steps;
}

void shade_phases(Svg& svg, const Scale& x, const std::vector<Step>& steps,
                  const SearchRequest& search) {
  bool shaded = false;
  for (std::size_t first = 0; first < steps.size();) {
    std::size_t last = first;
    while (last + 1 < steps.size() && steps[last + 1].trial->phase == steps[first].trial->phase) {
      ++last;
    }
    const double left = x.at(first == 0 ? 0 : steps[first - 1].seconds);
    const double right = x.at(steps[last].seconds);
    const Bilingual name = phase_text(steps[first].trial->phase, search);
    svg.rectangle(left, kTop, right - left, kHeight - kBottom - kTop,
                  shaded ? "phase" : "phase other", html_text(name.english));
    // A column of this font takes about 6.5 pixels (a guess).
    if (right - left > 6.5 * display_width(name.english)) {
      svg.text(left + 4, kTop - 4, say_text(name, "tspan"), "phase-text");
    }
    shaded = !shaded;
    first = last + 1;
  }
}

}  // namespace

std::string pareto_figure(const RunRecord& run) {
  std::vector<Dot> dots;
  double most = 0, fastest = 0;
  for (const SettingSummary& setting : run.result.settings) {
    const double rate = setting.samples_per_second.median;
    if (rate <= 0 || setting.peak_bytes == 0 || dots.size() >= kMaxDots) continue;
    dots.push_back({static_cast<double>(setting.peak_bytes), rate, &setting});
    most = std::max(most, dots.back().bytes);
    fastest = std::max(fastest, rate);
  }
  if (dots.size() < 3) return "";
  // In the order of memory the front is the dots that are faster than all before them.
  std::sort(dots.begin(), dots.end(), [](const Dot& a, const Dot& b) { return a.bytes < b.bytes; });
  const double limit = static_cast<double>(run.result.recommendation.limit_bytes);
  // A limit far away would press all dots to the left edge.
  const bool limit_near = limit > 0 && limit < 2 * most;
  // In the unit that gives short numbers.
  const double widest = 1.04 * (limit_near ? std::max(limit, most) : most);
  const double unit = widest < 2 * kGiB ? kMiB : kGiB;
  const Scale x = across(0, widest / unit);
  const Scale y = upwards(fastest * 1.08);
  Svg svg(kWidth, kHeight,
          say_attribute("aria-label",
                        "Rate against peak memory of {} {0:setting|settings}: up to {} {} and {}",
                        {fmt::format("{}", dots.size()), format_count(fastest),
                         phrase(rate_unit(run)), format_bytes(static_cast<std::uint64_t>(most))}));
  draw_axes(svg, x, y, say("peak memory in {} →", {unit == kGiB ? "GiB" : "MiB"}, "tspan"),
            say(rate_unit(run), {}, "tspan"));
  std::string front;
  double best = 0;
  for (const Dot& dot : dots) {
    if (dot.rate > best) {
      if (best > 0) append_point(front, x.at(dot.bytes / unit), y.at(best));
      append_point(front, x.at(dot.bytes / unit), y.at(dot.rate));
      best = dot.rate;
    }
    const bool chosen = run.result.found && dot.setting->knobs == run.result.recommendation.knobs;
    svg.circle(x.at(dot.bytes / unit), y.at(dot.rate), chosen ? 5.5 : 2.6,
               chosen ? "mark chosen-mark" : "mark small",
               html_text(plain_line(knobs_text(dot.setting->knobs)), 300) + ": " +
                   html_text(rate_text(dot.setting->samples_per_second)),
               knobs_filter(dot.setting->knobs));
  }
  svg.path(front, "curve");
  if (limit_near) {
    svg.line(x.at(limit / unit), kTop, x.at(limit / unit), kHeight - kBottom, "limit");
    svg.text(x.at(limit / unit) - 4, kTop + 10, say("limit", {}, "tspan"), "axis",
             Svg::Anchor::end);
  }
  return figure_html(
      say("Each dot is a setting. No setting above the line was measured: those on it are the "
          "fastest for their memory."),
      svg.markup(), "scaling");
}

std::string story_figure(const RunRecord& run) {
  const std::vector<Step> steps = steps_of(run);
  const auto worked =
      std::count_if(steps.begin(), steps.end(), [](const Step& step) { return step.trial->ok(); });
  if (worked < 2 || steps.back().best <= 0) return "";
  double fastest = 0;
  for (const Step& step : steps) fastest = std::max(fastest, step.trial->samples_per_second);
  // A run of no time would have an axis without length.
  const double end = std::max(steps.back().seconds, 0.1);
  const double unit = end < 180 ? 1 : 60;
  const Scale x = across(0, end / unit);
  const Scale y = upwards(fastest * 1.08);
  Svg svg(kWidth, kHeight,
          say_attribute("aria-label", "{} trials in {}; the best rate is {} {}",
                        {fmt::format("{}", steps.size()), duration_text(end),
                         format_count(steps.back().best), phrase(rate_unit(run))}));
  shade_phases(svg, {0, end, x.origin, x.pixels, false}, steps, run.search);
  draw_axes(svg, x, y, say(unit == 1 ? "seconds →" : "minutes →", {}, "tspan"),
            say(rate_unit(run), {}, "tspan"));
  // The line keeps every step; only dots are thinned out.
  const std::size_t stride = steps.size() / kMaxDots + 1;
  std::string path;
  double drawn = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    const double at = x.at(step.seconds / unit);
    if (step.best != drawn) {
      if (drawn > 0) append_point(path, at, y.at(drawn));
      append_point(path, at, y.at(step.best));
      drawn = step.best;
    }
    if (i % stride != 0) continue;
    if (step.trial->ok()) {
      svg.circle(at, y.at(step.trial->samples_per_second), 2.2,
                 step.trial->noisy() ? "dot noisy" : "dot");
    } else if (!is_excluded(step.trial->outcome)) {
      svg.text(at, kHeight - kBottom - 2, "×", "failure-mark", Svg::Anchor::middle);
    }
  }
  append_point(path, x.at(end / unit), y.at(drawn));
  svg.path(path, "curve");
  return figure_html(
      say("Each dot is a trial at its rate, a ring one that other programs disturbed, × "
          "a failure; the line is the best undisturbed rate so far."),
      svg.markup(), "scaling");
}

}  // namespace ocrtune
