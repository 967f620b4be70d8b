// Settings are put into a grid first, by processes and batch, the other knobs at their best. The
// grid is drawn cell by cell; the legend collects what was really drawn.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/headline.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/reasons.h"
#include "reports/catalogue/verdict.h"
#include "reports/figures/figures.h"
#include "reports/markup/page_markup.h"
#include "reports/markup/svg.h"

namespace ocrtune {
namespace {

constexpr double kMapLeft = 44, kMapTop = 26, kMapBottom = 44;
constexpr double kNarrowest = 270;  // the axis titles need that much
// The style sheet has classes s0 to s7 for cells and t0 to t7 for their text.
constexpr int kShades = 8;

using Place = std::pair<int, int>;  // nproc, batch

// The best measured setting of a place, or its failure; where nothing was run, the best predicted.
struct Content {
  const SettingSummary* measured = nullptr;
  const PredictedSetting* predicted = nullptr;

  // Nothing was measured there, or all that was failed while another setting of it may run.
  bool guessed() const {
    if (measured == nullptr) return true;
    const bool failed = measured->samples_per_second.median <= 0;
    return failed && predicted != nullptr && predicted->admitted;
  }

  double peak_bytes() const {
    if (measured != nullptr && measured->peak_bytes > 0) {
      return static_cast<double>(measured->peak_bytes);
    }
    return predicted == nullptr ? 0 : static_cast<double>(predicted->peak_bytes);
  }
};

// A guess that may be off by more than this between its bounds is shown without a number.
constexpr double kTellingRatio = 2;

bool telling(const PredictedSetting& setting) {
  const Interval& rate = setting.samples_per_second;
  return setting.admitted && rate.median > 0 && rate.high <= kTellingRatio * rate.low;
}

struct Grid {
  std::vector<int> nprocs, batches;  // ascending
  std::map<Place, Content> cells;
  double fastest = 0, slowest = 0;  // of what is shown; 0: nothing
};

constexpr const char* kHatch =
    "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\" "
    "class=\"hatch-line\"/></pattern></defs>";

bool better(const PredictedSetting& a, const PredictedSetting& b) {
  if (a.admitted != b.admitted) return a.admitted;
  return a.samples_per_second.median > b.samples_per_second.median;
}

Grid grid_of(const TuneResult& result) {
  Grid grid;
  std::set<int> nprocs, batches;
  const auto cell_of = [&](const Knobs& knobs) -> Content& {
    nprocs.insert(knobs.nproc);
    batches.insert(knobs.batch);
    return grid.cells[{knobs.nproc, knobs.batch}];
  };
  for (const SettingSummary& setting : result.settings) {
    Content& cell = cell_of(setting.knobs);
    const double rate = setting.samples_per_second.median;
    // A failed setting has the rate 0, so any that works takes its place.
    if (cell.measured == nullptr || rate > cell.measured->samples_per_second.median) {
      cell.measured = &setting;
    }
    grid.fastest = std::max(grid.fastest, rate);
  }
  for (const PredictedSetting& setting : result.predicted) {
    Content& cell = cell_of(setting.knobs);
    if (cell.predicted == nullptr || better(setting, *cell.predicted)) cell.predicted = &setting;
  }
  grid.slowest = grid.fastest;
  for (const auto& [place, cell] : grid.cells) {
    const double rate = cell.guessed() ? 0 : cell.measured->samples_per_second.median;
    if (rate > 0) grid.slowest = std::min(grid.slowest, rate);
  }
  grid.nprocs.assign(nprocs.begin(), nprocs.end());
  grid.batches.assign(batches.begin(), batches.end());
  return grid;
}

// What failed cells show, and what the legend says of it.
struct Letter {
  const char *letter, *meaning;
};

Letter failure_letter(Outcome outcome) {
  constexpr Letter kLetters[] = {{"", ""},
                                 {"M", "M out of memory"},
                                 {"H", "H hung"},
                                 {"T", "T timed out"},
                                 {"C", "C crashed"},
                                 {"W", "W wrong result"},
                                 {"–", "– not possible here"},
                                 {"–", "– not possible here"}};
  return kLetters[static_cast<int>(outcome)];
}

class MapDrawing {
 public:
  MapDrawing(const RunRecord& run, Grid grid)
      : run_(run),
        grid_(std::move(grid)),
        // A third of a page of 1280 pixels, as long as a cell holds its number.
        cell_width_(std::clamp(340.0 / static_cast<double>(grid_.batches.size()), 40.0, 84.0)),
        cell_height_(std::clamp(300.0 / static_cast<double>(grid_.nprocs.size()), 22.0, 36.0)),
        svg_(std::max(kMapLeft + cell_width_ * static_cast<double>(grid_.batches.size()) + 8,
                      kNarrowest),
             kMapTop + cell_height_ * static_cast<double>(grid_.nprocs.size()) + kMapBottom,
             say_attribute("aria-label",
                           "Rate by processes and batch size, from {} to {} {}; the table of all "
                           "trials has each",
                           {format_count(grid_.slowest), format_count(grid_.fastest),
                            phrase(rate_unit(run))})) {}

  std::string draw() {
    svg_.raw(kHatch);
    for (std::size_t row = 0; row < grid_.nprocs.size(); ++row) {
      for (std::size_t column = 0; column < grid_.batches.size(); ++column) draw_cell(row, column);
    }
    draw_memory_lines();
    // Marks are drawn over the cells, and the star over all.
    draw_rules();
    if (run_.result.found) draw_star();
    draw_axes();
    return svg_.markup();
  }

  // What was drawn, in words.
  std::string legend() const {
    std::string out = say("Best rate of each combination of processes and batch size, in {}",
                          {say(rate_unit(run_))});
    for (const auto& [meaning, html] : drawn_) out += " · " + html;
    return out;
  }

 private:
  void explain(const char* phrase, const std::vector<std::string>& arguments = {}) {
    drawn_.emplace(phrase, say(phrase, arguments));
  }

  double x(std::size_t column) const {
    return kMapLeft + cell_width_ * static_cast<double>(column);
  }
  // The most processes stand on top.
  double y(std::size_t row) const {
    return kMapTop + cell_height_ * static_cast<double>(grid_.nprocs.size() - 1 - row);
  }

  void draw_cell(std::size_t row, std::size_t column) {
    const auto found = grid_.cells.find({grid_.nprocs[row], grid_.batches[column]});
    const double left = x(column) + 1, top = y(row) + 1;
    const double width = cell_width_ - 2, height = cell_height_ - 2;
    if (found == grid_.cells.end()) {
      svg_.rectangle(left, top, width, height, "cell none");
      return;
    }
    const std::string filter =
        fmt::format(" data-filter=\"nproc={} batch={}\"", grid_.nprocs[row], grid_.batches[column]);
    const Content& content = found->second;
    if (content.guessed()) {
      draw_predicted(*content.predicted, left, top);
    } else if (content.measured->samples_per_second.median > 0) {
      draw_rate(content.measured->samples_per_second, left, top,
                name_of(content.measured->knobs) + ": " +
                    html_text(rate_text(content.measured->samples_per_second)),
                filter);
    } else {
      const SettingSummary& setting = *content.measured;
      draw_failed(
          setting.outcome, left, top,
          name_of(setting.knobs) + ": " + html_text(plain_line(sentence(setting.reason)), 300),
          filter);
    }
  }

  static std::string name_of(const Knobs& knobs) {
    return html_text(plain_line(knobs_text(knobs)), 300);
  }

  void draw_predicted(const PredictedSetting& setting, double left, double top) {
    const std::string name = name_of(setting.knobs);
    if (!setting.admitted) {
      draw_failed(Outcome::out_of_memory, left, top,
                  name + ": " + html_text(plain_line(sentence(setting.reason)), 300), "");
    } else if (telling(setting)) {
      // An outline: only what was measured has a colour.
      svg_.rectangle(left, top, cell_width_ - 2, cell_height_ - 2, "cell outline",
                     name + ": ~" + html_text(rate_text(setting.samples_per_second)));
      svg_.text(left + cell_width_ / 2 - 1, top + cell_height_ / 2 + 3,
                html_text("~" + format_count(setting.samples_per_second.median)), "cell-text guess",
                Svg::Anchor::middle);
      explain("Outline: predicted, not run");
      return;
    } else {
      svg_.rectangle(left, top, cell_width_ - 2, cell_height_ - 2, "cell none", name);
      explain("Blank: not run");
      return;
    }
    explain("Hatched: not run, would not fit");
    svg_.rectangle(left, top, cell_width_ - 2, cell_height_ - 2, "hatched");
  }

  void draw_rate(const Interval& rate, double left, double top, const std::string& title,
                 const std::string& filter) {
    const double width = cell_width_ - 2, height = cell_height_ - 2;
    // From the slowest shown to the fastest; a span of a few percent keeps to the darker half.
    const double span = std::max(grid_.fastest - grid_.slowest, 0.1 * grid_.fastest);
    const double share = 1 - (grid_.fastest - rate.median) / span;
    const int shade = std::clamp(static_cast<int>(share * kShades), 0, kShades - 1);
    svg_.rectangle(left, top, width, height, fmt::format("cell s{}", shade), title, filter);
    svg_.text(left + width / 2, top + height / 2 + 4, html_text(format_count(rate.median)),
              fmt::format("cell-text t{}", shade), Svg::Anchor::middle);
  }

  void draw_failed(Outcome outcome, double left, double top, const std::string& title,
                   const std::string& filter) {
    const double width = cell_width_ - 2, height = cell_height_ - 2;
    const auto [letter, meaning] = failure_letter(outcome);
    explain(meaning);
    if (is_excluded(outcome)) {
      svg_.rectangle(left, top, width, height, "cell none", title, filter);
      svg_.text(left + width / 2, top + height / 2 + 4, letter, "cell-text", Svg::Anchor::middle);
      return;
    }
    svg_.rectangle(left, top, width, height, "cell failed", title, filter);
    svg_.path(fmt::format("M{:.4g} {:.4g}l{:.4g} {:.4g}m0 {:.4g}l{:.4g} {:.4g}", left + 4, top + 4,
                          width - 8, height - 8, 8 - height, 8 - width, height - 8),
              "cross");
    svg_.text(left + width / 2, top + height / 2 + 4, letter, "cell-text bad", Svg::Anchor::middle);
  }

  // Where peak memory passes half and the whole of the limit, between the centres of the cells.
  void draw_memory_lines() {
    const double limit = static_cast<double>(limit_bytes(run_.job, run_.search));
    if (limit <= 0) return;
    for (const double share : {0.5, 1.0}) {
      std::string path;
      for (std::size_t row = grid_.nprocs.size(); row-- > 0;) {
        double at = 0;
        if (!crossing(row, share * limit, &at)) continue;
        fmt::format_to(std::back_inserter(path), "{}{:.4g} {:.4g}", path.empty() ? "M" : "L", at,
                       y(row) + cell_height_ / 2);
      }
      if (path.empty()) continue;
      svg_.path(path, share == 1.0 ? "iso whole" : "iso");
      const std::string bytes = html_text(format_bytes(static_cast<std::uint64_t>(share * limit)));
      if (share == 1.0) {
        explain("Red line: peak memory reaches the limit, {}", {bytes});
      } else {
        explain("Dashed red line: peak memory {}, half of the limit", {bytes});
      }
    }
  }

  bool crossing(std::size_t row, double bytes, double* at) const {
    double before = 0;
    for (std::size_t column = 0; column < grid_.batches.size(); ++column) {
      const auto found = grid_.cells.find({grid_.nprocs[row], grid_.batches[column]});
      const double peak = found == grid_.cells.end() ? 0 : found->second.peak_bytes();
      if (peak <= 0) continue;
      if (before > 0 && before <= bytes && peak > bytes) {
        const double share = std::log(bytes / before) / std::log(peak / before);
        *at = x(column) + cell_width_ * (share - 0.5);
        return true;
      }
      before = peak;
    }
    return false;
  }

  // The place of a setting in the grid, or nothing to draw on.
  bool find(const Knobs& knobs, double* left, double* top) const {
    const auto row = std::find(grid_.nprocs.begin(), grid_.nprocs.end(), knobs.nproc);
    const auto column = std::find(grid_.batches.begin(), grid_.batches.end(), knobs.batch);
    if (row == grid_.nprocs.end() || column == grid_.batches.end()) return false;
    *left = x(static_cast<std::size_t>(column - grid_.batches.begin()));
    *top = y(static_cast<std::size_t>(row - grid_.nprocs.begin()));
    return true;
  }

  void draw_rules() {
    std::map<Place, int> drawn;
    for (const RuleVerdict& rule : run_.result.rules) {
      double left = 0, top = 0;
      if (rule.setting.trials == 0 || !find(rule.setting.knobs, &left, &top)) continue;
      const Place place(rule.setting.knobs.nproc, rule.setting.knobs.batch);
      // Triangles of several rules in one cell stand side by side.
      const double shift = 9.0 * drawn[place]++;
      svg_.path(fmt::format("M{:.4g} {:.4g}l4 7h-8z", left + 7 + shift, top + 3), "rule-mark",
                html_text(plain_line(sentence(rule.text))));
      explain("▲ rule of thumb");
    }
  }

  void draw_star() {
    double left = 0, top = 0;
    if (!find(run_.result.recommendation.knobs, &left, &top)) return;
    svg_.rectangle(left, top, cell_width_, cell_height_, "chosen");
    std::string star;
    for (int i = 0; i < 10; ++i) {
      const double radius = i % 2 == 0 ? 6 : 2.6;
      const double angle = -1.5708 + 0.62832 * i;
      fmt::format_to(std::back_inserter(star), "{}{:.4g} {:.4g}", i == 0 ? "M" : "L",
                     left + cell_width_ - 9 + radius * std::cos(angle),
                     top + 9 + radius * std::sin(angle));
    }
    svg_.path(star + "z", "star");
    explain(run_.result.verdict.answer != Answer::inconclusive ? "★ recommended" : "★ leading");
  }

  void draw_axes() {
    const double bottom = kMapTop + cell_height_ * static_cast<double>(grid_.nprocs.size());
    for (std::size_t column = 0; column < grid_.batches.size(); ++column) {
      svg_.text(x(column) + cell_width_ / 2, bottom + 15, fmt::format("{}", grid_.batches[column]),
                "tick", Svg::Anchor::middle);
    }
    for (std::size_t row = 0; row < grid_.nprocs.size(); ++row) {
      svg_.text(kMapLeft - 7, y(row) + cell_height_ / 2 + 4, fmt::format("{}", grid_.nprocs[row]),
                "tick", Svg::Anchor::end);
    }
    svg_.text(x(0), bottom + 33, say("batch size of each process →", {}, "tspan"), "axis");
    svg_.text(4, 14, say("processes", {}, "tspan"), "axis");
  }

  const RunRecord& run_;
  Grid grid_;
  double cell_width_, cell_height_;
  Svg svg_;
  std::map<std::string, std::string> drawn_;  // phrase -> HTML, for the legend
};

}  // namespace

std::string map_figure(const RunRecord& run) {
  Grid grid = grid_of(run.result);
  if (grid.cells.size() < 2 || run.search.baseline.absent.contains("batch")) return "";
  MapDrawing drawing(run, std::move(grid));
  const std::string picture = drawing.draw();
  return figure_html(drawing.legend(), picture, "map");
}

}  // namespace ocrtune
