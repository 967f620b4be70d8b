// Codes stand in reason_codes.h, sentences in reports/catalogue/. A wrong place or type gives 0 or
// an empty value, so that an old store never stops a report.
#include "trial/reason.h"

namespace ocrtune {

Argument::Argument(Reason reason) : value(std::make_shared<const Reason>(std::move(reason))) {}

bool Argument::operator==(const Argument& other) const {
  using Nested = std::shared_ptr<const Reason>;
  const auto *ours = std::get_if<Nested>(&value), *theirs = std::get_if<Nested>(&other.value);
  return ours != nullptr && theirs != nullptr ? **ours == **theirs : value == other.value;
}

double Reason::number(std::size_t argument) const {
  if (argument >= arguments.size()) return 0;
  const auto* number = std::get_if<Number>(&arguments[argument].value);
  return number == nullptr ? 0 : number->value;
}

std::string Reason::text(std::size_t argument) const {
  if (argument >= arguments.size()) return "";
  const auto* text = std::get_if<std::string>(&arguments[argument].value);
  return text == nullptr ? "" : *text;
}

const Reason& Reason::nested(std::size_t argument) const {
  static const Reason kNone;
  if (argument >= arguments.size()) return kNone;
  const auto* nested = std::get_if<std::shared_ptr<const Reason>>(&arguments[argument].value);
  return nested == nullptr ? kNone : **nested;
}

}  // namespace ocrtune
