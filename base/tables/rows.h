// Tables as text: a row a line, columns between blanks, the last one to the line's end. "#" begins
// a remark.
#pragma once

#include <string_view>
#include <vector>

namespace ocrtune {

std::vector<std::string_view> rows_of(std::string_view text);
// The first column, taken off the row.
std::string_view take_column(std::string_view& row);
// A copy that ends with a zero and lasts as long as the process.
const char* lasting(std::string_view text);

}  // namespace ocrtune
