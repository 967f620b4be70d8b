// One form alone: names joined by '*', a comparison, a bound. Brackets and sums are left out on
// purpose: every condition stays one line that a message can quote.
#include "tuner/space/constraint.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

bool compare(double left, const std::string& comparison, double right) {
  if (comparison == "<=") return left <= right;
  if (comparison == ">=") return left >= right;
  if (comparison == "<") return left < right;
  if (comparison == ">") return left > right;
  return (left == right) == (comparison == "=");
}

}  // namespace

Result<Constraint> parse_constraint(const std::string& text) {
  // Longer ones first: "<" would take the begin of "<=".
  static constexpr std::array<std::string_view, 6> kComparisons = {"<=", ">=", "!=", "<", ">", "="};
  const Error malformed{
      ErrorKind::usage,
      fmt::format("constraint '{}' is not NAME<=NUMBER, such as nproc*threads<=16", text)};
  std::size_t at = std::string::npos;
  Constraint constraint{text, {}, "", ""};
  for (std::size_t i = 0; i < text.size() && at == std::string::npos; ++i) {
    for (const std::string_view comparison : kComparisons) {
      if (std::string_view(text).substr(i, comparison.size()) != comparison) continue;
      at = i;
      constraint.comparison = comparison;
      break;
    }
  }
  if (at == std::string::npos) return malformed;
  for (const std::string& term : split(std::string_view(text).substr(0, at), '*')) {
    const std::string name(trim(term));
    if (name.empty()) return malformed;
    constraint.terms.push_back(name);
  }
  constraint.bound = trim(std::string_view(text).substr(at + constraint.comparison.size()));
  const bool words_allowed = constraint.terms.size() == 1 &&
                             (constraint.comparison == "=" || constraint.comparison == "!=");
  if (constraint.bound.empty()) return malformed;
  if (!words_allowed && !parse_number(constraint.bound)) return malformed;
  return constraint;
}

bool satisfies(const Knobs& knobs, const Constraint& constraint) {
  // A bound that is a word was parsed for = and != of one name alone.
  const auto bound = parse_number(constraint.bound);
  if (!bound) {
    const std::string value = knob_text(knobs, constraint.terms[0]);
    return (value == constraint.bound) == (constraint.comparison == "=");
  }
  double product = 1;
  for (const std::string& name : constraint.terms) {
    const auto value = parse_number(knob_text(knobs, name));
    // A setting that lacks the knob cannot be said to hold the condition.
    if (!value) return false;
    product *= *value;
  }
  return compare(product, constraint.comparison, *bound);
}

}  // namespace ocrtune
