#include "reports/map_figure.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/page_markup.h"
#include "reports/phrases.h"
#include "reports/plain_text.h"
#include "reports/svg.h"
#include "reports/verdict.h"

namespace ocrtune {
namespace {

constexpr double kLeft = 56, kTop = 8, kBottom = 44;
constexpr int kShades = 8;

using Place = std::pair<int, int>;  // nproc, batch

struct Grid {
  std::vector<int> nprocs, batches;              // ascending
  std::map<Place, const SettingSummary*> cells;  // the best of each place, or its failure
  double fastest = 0;
};

bool better(const SettingSummary& a, const SettingSummary& b) {
  return a.samples_per_second.median > b.samples_per_second.median;
}

Grid grid_of(const TuneResult& result) {
  Grid grid;
  std::set<int> nprocs, batches;
  for (const SettingSummary& setting : result.settings) {
    const Place place(setting.knobs.nproc, setting.knobs.batch);
    nprocs.insert(place.first);
    batches.insert(place.second);
    const auto [cell, fresh] = grid.cells.emplace(place, &setting);
    if (!fresh && better(setting, *cell->second)) cell->second = &setting;
    grid.fastest = std::max(grid.fastest, setting.samples_per_second.median);
  }
  grid.nprocs.assign(nprocs.begin(), nprocs.end());
  grid.batches.assign(batches.begin(), batches.end());
  return grid;
}

// The letter of a failed cell: out of Memory, Hung, Timed out, Crashed, Wrong, Unsupported.
const char* failure_letter(Outcome outcome) {
  constexpr const char* kLetters[] = {"", "M", "H", "T", "C", "W", "U", "–"};
  return kLetters[static_cast<int>(outcome)];
}

class MapDrawing {
 public:
  MapDrawing(const RunRecord& run, Grid grid)
      : run_(run),
        grid_(std::move(grid)),
        cell_width_(std::clamp(640.0 / static_cast<double>(grid_.batches.size()), 34.0, 84.0)),
        cell_height_(std::clamp(300.0 / static_cast<double>(grid_.nprocs.size()), 22.0, 36.0)),
        svg_(kLeft + cell_width_ * static_cast<double>(grid_.batches.size()) + 8,
             kTop + cell_height_ * static_cast<double>(grid_.nprocs.size()) + kBottom,
             say_attribute("aria-label", "Rate by processes and batch size")) {}

  std::string draw() {
    for (std::size_t row = 0; row < grid_.nprocs.size(); ++row) {
      for (std::size_t column = 0; column < grid_.batches.size(); ++column) {
        draw_cell(row, column);
      }
    }
    draw_rules();
    if (run_.result.found) draw_star();
    draw_axes();
    return svg_.markup();
  }

 private:
  double x(std::size_t column) const { return kLeft + cell_width_ * static_cast<double>(column); }
  // The most processes stand on top.
  double y(std::size_t row) const {
    return kTop + cell_height_ * static_cast<double>(grid_.nprocs.size() - 1 - row);
  }

  void draw_cell(std::size_t row, std::size_t column) {
    const auto found = grid_.cells.find({grid_.nprocs[row], grid_.batches[column]});
    const double left = x(column) + 1, top = y(row) + 1;
    const double width = cell_width_ - 2, height = cell_height_ - 2;
    if (found == grid_.cells.end()) {
      svg_.rectangle(left, top, width, height, "cell none");
      return;
    }
    const SettingSummary& setting = *found->second;
    const std::string filter =
        fmt::format(" data-filter=\"nproc={} batch={}\"", grid_.nprocs[row], grid_.batches[column]);
    const double rate = setting.samples_per_second.median;
    const std::string name = html_text(plain_line(knobs_text(setting.knobs)), 300);
    if (rate <= 0) {
      svg_.rectangle(left, top, width, height, "cell failed",
                     name + ": " + html_text(plain_line(setting.reason), 300), filter);
      svg_.path(fmt::format("M{:.4g} {:.4g}l{:.4g} {:.4g}m0 {:.4g}l{:.4g} {:.4g}", left + 4,
                            top + 4, width - 8, height - 8, 8 - height, 8 - width, height - 8),
                "cross");
      svg_.text(left + width / 2, top + height / 2 + 4, failure_letter(setting.outcome),
                "cell-text bad", Svg::Anchor::middle);
      return;
    }
    const int shade = std::clamp(static_cast<int>(rate / grid_.fastest * kShades), 0, kShades - 1);
    svg_.rectangle(left, top, width, height, fmt::format("cell s{}", shade),
                   name + ": " + html_text(rate_text(setting.samples_per_second)), filter);
    svg_.text(left + width / 2, top + height / 2 + 4, html_text(format_count(rate)),
              fmt::format("cell-text t{}", shade), Svg::Anchor::middle);
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
      const double shift = 9.0 * drawn[place]++;
      svg_.path(fmt::format("M{:.4g} {:.4g}l4 7h-8z", left + 7 + shift, top + 3), "rule-mark",
                html_text(plain_line(rule.text)));
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
  }

  void draw_axes() {
    const double bottom = kTop + cell_height_ * static_cast<double>(grid_.nprocs.size());
    for (std::size_t column = 0; column < grid_.batches.size(); ++column) {
      svg_.text(x(column) + cell_width_ / 2, bottom + 15, fmt::format("{}", grid_.batches[column]),
                "tick", Svg::Anchor::middle);
    }
    for (std::size_t row = 0; row < grid_.nprocs.size(); ++row) {
      svg_.text(kLeft - 7, y(row) + cell_height_ / 2 + 4, fmt::format("{}", grid_.nprocs[row]),
                "tick", Svg::Anchor::end);
    }
    svg_.text(x(0), bottom + 33, say("batch size of each process →", {}, "tspan"), "axis");
    svg_.raw(fmt::format("<g transform=\"translate(14 {:.4g}) rotate(-90)\">", bottom));
    svg_.text(0, 0, say("processes →", {}, "tspan"), "axis");
    svg_.raw("</g>");
  }

  const RunRecord& run_;
  Grid grid_;
  double cell_width_, cell_height_;
  Svg svg_;
};

}  // namespace

std::string map_figure(const RunRecord& run) {
  Grid grid = grid_of(run.result);
  if (grid.cells.size() < 2) return "";
  const std::string caption = say(
      "Best rate of each (processes, batch) in samples/s. ★ chosen, ▲ rules of thumb, × failed: "
      "M memory, H hung, T timed out, C crashed, W wrong result, U unsupported.");
  return figure_html(caption, MapDrawing(run, std::move(grid)).draw(), "map");
}

}  // namespace ocrtune
