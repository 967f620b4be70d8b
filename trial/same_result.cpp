// The names are stored; an unknown one, as of a later version, reads as "not_asked".
#include "trial/same_result.h"

#include <algorithm>
#include <iterator>

namespace ocrtune {
namespace {

struct NotComparedName {
  NotCompared why;
  std::string_view name;
};

constexpr NotComparedName kNotComparedNames[] = {
    {NotCompared::no, "compared"},
    {NotCompared::not_asked, "not_asked"},
    {NotCompared::no_text, "no_text"},
    {NotCompared::all_varies, "all_varies"},
    {NotCompared::all_alike, "all_alike"},
    {NotCompared::no_answers, "no_answers"},
    {NotCompared::no_reference, "no_reference"},
};

}  // namespace

std::string_view not_compared_name(NotCompared why) {
  const auto* row = std::find_if(std::begin(kNotComparedNames), std::end(kNotComparedNames),
                                 [&](const NotComparedName& one) { return one.why == why; });
  return row == std::end(kNotComparedNames) ? "" : row->name;
}

NotCompared parse_not_compared(std::string_view name) {
  const auto* row = std::find_if(std::begin(kNotComparedNames), std::end(kNotComparedNames),
                                 [&](const NotComparedName& one) { return one.name == name; });
  return row == std::end(kNotComparedNames) ? NotCompared::not_asked : row->why;
}

}  // namespace ocrtune
