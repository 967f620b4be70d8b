// A small state for each of two forms: the three lines of a PCIe link, and a heading of columns
// with rows below it. A row counts as long as it has as many cells as the heading.
#include "diagnosis/context/card_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::string_view kWidth = "pcie.link.width.current", kMostWidth = "pcie.link.width.max";

bool mentions(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  if (!mentions(line, ",")) return words(line);
  for (const std::string& cell : split(std::string(line), ',')) cells.emplace_back(trim(cell));
  return cells;
}

// "16x" -> 16.
int lanes(std::string_view text) {
  const std::string_view number = text.substr(0, text.find('x'));
  return static_cast<int>(parse_integer(trim(number)).value_or(0));
}

}  // namespace

std::string CardReport::take_line(std::string_view line) {
  if (in_link_ || mentions(line, "Link Width")) return take_link(line);
  const bool heads = mentions(line, kWidth) || mentions(line, "_reasons.");
  const bool samples = mentions(line, " swpd ") || mentions(line, "mem_used");
  if ((heads && mentions(line, ",")) || samples) {
    columns_ = cells_of(line);
    return "";
  }
  return columns_.empty() ? "" : take_row(line);
}

std::string CardReport::take_link(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view name = trim(line.substr(0, std::min(colon, line.size())));
  in_link_ = colon == std::string_view::npos || name == "Max";
  if (colon == std::string_view::npos) {
    in_link_ = name == "Link Width";
    return "";
  }
  const int found = lanes(line.substr(colon + 1));
  if (name == "Max") max_lanes_ = found;
  if (name != "Current" || found <= 0 || found >= max_lanes_) return "";
  return fmt::format("Link Width Current : {}x (of {}x)", found, max_lanes_);
}

std::string CardReport::take_row(std::string_view line) const {
  const std::vector<std::string> cells = cells_of(line);
  if (cells.size() != columns_.size()) return "";
  int found = 0, most = 0;
  double used = 0, total = 0, in = 0, out = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double value = parse_number(cells[i]).value_or(0);
    if (starts_with(columns_[i], "mem_used")) used = value;
    if (starts_with(columns_[i], "mem_total")) total = value;
    if (columns_[i] == "si") in = value;
    if (columns_[i] == "so") out = value;
    if (columns_[i] == kWidth) found = lanes(cells[i]);
    if (columns_[i] == kMostWidth) most = lanes(cells[i]);
    if (mentions(columns_[i], "_reasons.") && cells[i] == "Active") {
      return fmt::format("{}: Active", columns_[i]);
    }
  }
  // A guess.
  constexpr double kSwaps = 1000;  // KiB a second, both ways
  if (total > 0) return fmt::format("memory used: {:.0f} of {:.0f}", used, total);
  if (in >= kSwaps && out >= kSwaps) {
    return fmt::format("vmstat: swaps in {:.0f} and out {:.0f} KiB/s", in, out);
  }
  if (found <= 0 || found >= most) return "";
  return fmt::format("{}: {} (of {})", kWidth, found, most);
}

}  // namespace ocrtune
