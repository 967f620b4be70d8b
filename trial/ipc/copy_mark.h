// Which of several copies of a command printed a line, where they share one output: rank-exec puts
// a mark in front of each line of a trial. Terminals and readers of plain text pass over it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ocrtune {

std::string copy_mark(int copy);
std::optional<int> marked_copy(std::string_view line);
std::string without_copy_marks(const std::string& lines);

}  // namespace ocrtune
