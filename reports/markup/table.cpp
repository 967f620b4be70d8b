// One table, three outputs: CSV, JSON and aligned columns. Unknown and infinite numbers are empty
// cells, null in JSON; CSV and the terminal take a text's bytes only as valid UTF-8.
#include "reports/markup/table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/text.h"
#include "reports/catalogue/plain_text.h"

namespace ocrtune {
namespace {

bool would_run_as_formula(std::string_view text) {
  return !text.empty() && (std::string_view("=+-@").find(text[0]) != std::string_view::npos ||
                           static_cast<unsigned char>(text[0]) < 0x20);
}

void append_text(std::string& out, std::string_view text) {
  const bool formula = would_run_as_formula(text);
  if (!formula && text.find_first_of("\",\n\r") == std::string_view::npos) {
    out += text;
    return;
  }
  out += formula ? "\"'" : "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void append_cell(std::string& out, const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    append_text(out, valid_utf8(*text));
  } else if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
    fmt::format_to(std::back_inserter(out), "{}", *whole);
  } else if (const auto* number = std::get_if<double>(&cell)) {
    // Ten digits are more than a measurement has, and hide the noise of binary fractions.
    if (std::isfinite(*number)) fmt::format_to(std::back_inserter(out), "{:.10g}", *number);
  }
}

bool is_number(const Cell& cell) {
  return std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<double>(cell);
}

}  // namespace

const Cell& Table::at(std::size_t row, std::size_t column) const {
  OCRTUNE_CHECK(row < rows() && column < columns_.size());
  return cells_[row * columns_.size() + column];
}

const Cell& Table::at(std::size_t row, std::string_view column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  OCRTUNE_CHECK(found != columns_.end());
  return at(row, static_cast<std::size_t>(found - columns_.begin()));
}

void Table::add_row(std::vector<Cell> cells) {
  OCRTUNE_CHECK(cells.size() == columns_.size());
  cells_.insert(cells_.end(), std::make_move_iterator(cells.begin()),
                std::make_move_iterator(cells.end()));
}

std::string cell_text(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  std::string out;
  append_cell(out, cell);
  return out;
}

std::string csv_text(const Table& table) {
  std::string out;
  const std::size_t columns = table.columns().size();
  for (std::size_t c = 0; c < columns; ++c) {
    if (c > 0) out += ',';
    append_text(out, table.columns()[c]);
  }
  out += '\n';
  for (std::size_t r = 0; r < table.rows(); ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      if (c > 0) out += ',';
      append_cell(out, table.at(r, c));
    }
    out += '\n';
  }
  return out;
}

std::string table_json(const Table& table, int indent) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (std::size_t r = 0; r < table.rows(); ++r) {
    nlohmann::ordered_json row = nlohmann::ordered_json::object();
    for (std::size_t c = 0; c < table.columns().size(); ++c) {
      nlohmann::ordered_json& at = row[valid_utf8(table.columns()[c])];
      const Cell& cell = table.at(r, c);
      if (const auto* text = std::get_if<std::string>(&cell)) at = valid_utf8(*text);
      if (const auto* whole = std::get_if<std::int64_t>(&cell)) at = *whole;
      if (const auto* number = std::get_if<double>(&cell)) at = *number;
    }
    rows.push_back(std::move(row));
  }
  return rows.dump(indent);
}

std::string console_table(const Table& table, int width) {
  const std::size_t columns = table.columns().size();
  std::vector<int> widths(columns);
  std::vector<bool> right(columns, table.rows() > 0);
  std::vector<std::vector<std::string>> lines(1, table.columns());
  for (std::size_t r = 0; r < table.rows(); ++r) {
    std::vector<std::string> line;
    for (std::size_t c = 0; c < columns; ++c) {
      line.push_back(plain_line(cell_text(table.at(r, c))));
      if (!is_number(table.at(r, c)) && !line.back().empty()) right[c] = false;
    }
    lines.push_back(std::move(line));
  }
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < columns; ++c) {
      widths[c] = std::max(widths[c], display_width(line[c]));
    }
  }
  std::string out;
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t c = 0; c < columns; ++c) {
      if (c > 0) text += "  ";
      // A last column of text needs no blanks behind it.
      text += c + 1 == columns && !right[c] ? line[c] : padded_to(line[c], widths[c], right[c]);
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    out += cut_to_width(text, width) + "\n";
  }
  return out;
}

}  // namespace ocrtune
