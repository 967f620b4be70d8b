// A heading of columns with rows below it. A row counts as long as it has as many cells as the
// heading.
#include "diagnosis/context/card_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::string_view kWidth = "pcie.link.width.current", kMaxWidth = "pcie.link.width.max";

std::vector<std::string> cells_of(std::string_view line) {
  if (line.find(',') == line.npos) return words(line);
  std::vector<std::string> cells;
  for (const std::string& cell : split(line, ',')) cells.emplace_back(trim(cell));
  return cells;
}

}  // namespace

std::string CardReport::take_line(std::string_view line) {
  const auto heads = [&](std::string_view word) { return line.find(word) != line.npos; };
  const bool of_commas = heads(",") || !heads("_reasons.");
  if (of_commas && std::ranges::any_of(kFirstWords, heads)) {
    columns_ = cells_of(line);
    return "";
  }
  const std::vector<std::string> cells = cells_of(line);
  if (columns_.empty() || cells.size() != columns_.size()) return "";
  double lanes = 0, max_lanes = 0, used = 0, total = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double value = parse_number(cells[i]).value_or(0);
    if (starts_with(columns_[i], "mem_used")) used = value;
    if (starts_with(columns_[i], "mem_total")) total = value;
    if (columns_[i] == kWidth) lanes = value;
    if (columns_[i] == kMaxWidth) max_lanes = value;
    if (columns_[i].find("_reasons.") != std::string::npos && cells[i] == "Active") {
      return fmt::format("{}: Active", columns_[i]);
    }
  }
  if (total > 0) return fmt::format("memory used: {:.0f} of {:.0f}", used, total);
  if (lanes <= 0 || lanes >= max_lanes) return "";
  return fmt::format("{}: {:.0f} (of {:.0f})", kWidth, lanes, max_lanes);
}

}  // namespace ocrtune
