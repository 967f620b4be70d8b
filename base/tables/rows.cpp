// The tables are literals of our own, so what is wrong with one is a broken invariant, not an
// error. `lasting` keeps texts in a deque, which never moves them.
#include "base/tables/rows.h"

#include <deque>
#include <mutex>
#include <string>

#include "base/check.h"

namespace ocrtune {

std::vector<std::string_view> rows_of(std::string_view text) {
  std::vector<std::string_view> rows;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    OCRTUNE_CHECK(end != std::string_view::npos);
    if (end > 0 && text[0] != '#') rows.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return rows;
}

std::string_view take_column(std::string_view& row) {
  const std::size_t end = row.find(' ');
  OCRTUNE_CHECK(end != std::string_view::npos);
  const std::string_view column = row.substr(0, end);
  row.remove_prefix(end + 1);
  return column;
}

const char* lasting(std::string_view text) {
  static std::mutex mutex;
  static std::deque<std::string> kept;
  const std::scoped_lock lock(mutex);
  return kept.emplace_back(text).c_str();
}

}  // namespace ocrtune
