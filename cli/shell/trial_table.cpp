// Rates as they were measured: what is told of them in the end may differ.
#include "cli/shell/trial_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/stats.h"
#include "base/text.h"
#include "reports/catalogue/plain_text.h"

namespace ocrtune {
namespace {

constexpr int kBarColumns = 16;
constexpr int kMinSetting = 16;  // columns

std::string bar(double low, double middle, double high, double best) {
  const auto columns = [&](double rate) {
    // Clamped: single trials may lie above the best mean.
    const double share = best > 0 ? std::clamp(rate / best, 0.0, 1.0) : 0;
    return static_cast<std::size_t>(std::lround(share * kBarColumns));
  };
  const std::size_t to_low = columns(low), to_middle = columns(middle), to_high = columns(high);
  std::string text(to_low, '#');
  text.append(to_middle - to_low, '=').append(to_high - to_middle, '-');
  text.resize(kBarColumns, ' ');
  return text;
}

}  // namespace

double TrialTable::Row::mean_rate() const { return rates.empty() ? 0 : mean(rates); }

TrialTable::TrialTable(Knobs start, std::string unit)
    : start_(std::move(start)), unit_(std::move(unit)) {}

void TrialTable::add(const Trial& trial) {
  auto found = std::find_if(rows_.begin(), rows_.end(),
                            [&](const Row& row) { return row.knobs == trial.knobs; });
  if (found == rows_.end()) {
    found = rows_.insert(rows_.end(), Row());
    found->knobs = trial.knobs;
  }
  if (trial.ok()) found->rates.push_back(trial.samples_per_second);
  found->peak_bytes = std::max(found->peak_bytes, trial.peak_bytes);
  found->failure = trial.ok() ? "" : outcome_name(trial.outcome);
}

std::string TrialTable::text_of(const Row& row, double best, int setting_width, int width) const {
  const std::string setting =
      padded_to(cut_to_width(plain_line(knobs_text(row.knobs)), setting_width), setting_width);
  if (row.rates.empty()) return cut_to_width(setting + "  " + row.failure, width);
  const auto [low, high] = std::minmax_element(row.rates.begin(), row.rates.end());
  const auto start =
      std::find_if(rows_.begin(), rows_.end(), [&](const Row& one) { return one.knobs == start_; });
  std::string gain;
  if (start != rows_.end() && start->mean_rate() > 0) {
    gain = row.knobs == start_ ? "start"
                               : fmt::format("{:.2f}x", row.mean_rate() / start->mean_rate());
  }
  std::string text =
      fmt::format("{}  {}  {:>8} {}  {:>5}", setting, bar(*low, row.mean_rate(), *high, best),
                  format_count(row.mean_rate()), unit_, gain);
  if (row.peak_bytes > 0) text += fmt::format("  {:>8}", format_bytes(row.peak_bytes));
  if (row.rates.size() > 1) text += "  " + how_many(row.rates.size(), "trial");
  return cut_to_width(text, width);
}

std::vector<std::string> TrialTable::rows(int most, int width) const {
  if (rows_.size() < 2 || most < 2) return {};
  std::vector<const Row*> sorted;
  for (const Row& row : rows_) sorted.push_back(&row);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Row* a, const Row* b) { return a->mean_rate() > b->mean_rate(); });
  const double best = sorted.front()->mean_rate();
  if (static_cast<int>(sorted.size()) > most) {
    const auto last = sorted.begin() + most - 1;
    const auto start =
        std::find_if(last, sorted.end(), [&](const Row* row) { return row->knobs == start_; });
    // The start takes the last row, for gains are counted from it.
    if (start != sorted.end()) std::rotate(last, start, start + 1);
    sorted.resize(static_cast<std::size_t>(most));
  }
  int setting_width = 0;
  for (const Row* row : sorted) {
    setting_width = std::max(setting_width, display_width(plain_line(knobs_text(row->knobs))));
  }
  setting_width = std::min(setting_width, std::max(kMinSetting, width / 3));
  std::vector<std::string> lines;
  for (const Row* row : sorted) lines.push_back(text_of(*row, best, setting_width, width));
  return lines;
}

}  // namespace ocrtune
