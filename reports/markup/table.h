// A table as every export sees it: named columns, and cells that are numbers, text or unknown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ocrtune {

using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;

inline Cell cell_of(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }

class Table {
 public:
  explicit Table(std::vector<std::string> columns) : columns_(std::move(columns)) {}

  const std::vector<std::string>& columns() const { return columns_; }
  std::size_t rows() const { return columns_.empty() ? 0 : cells_.size() / columns_.size(); }
  const Cell& at(std::size_t row, std::size_t column) const;
  // The cell of a column by its name; an unknown name is a broken invariant.
  const Cell& at(std::size_t row, std::string_view column) const;

  // Every row has one cell for each column.
  void add_row(std::vector<Cell> cells);

 private:
  std::vector<std::string> columns_;
  std::vector<Cell> cells_;  // row by row
};

std::string cell_text(const Cell& cell);  // unknown is empty; a double has ten digits

// RFC 4180 with "\n" line ends, UTF-8. A text cell that a spreadsheet would run as a formula (it
// starts with = + - @ or a control character) gets an apostrophe in front.
std::string csv_text(const Table& table);

// An array of objects with the columns as keys; unknown is null.
std::string table_json(const Table& table, int indent = 2);

// For a terminal: aligned, numbers to the right, cut to `width` columns at the last column.
std::string console_table(const Table& table, int width);

}  // namespace ocrtune
