// Why something is so, as data: a code and its arguments. reports/catalogue/ has the sentence of
// each code in English and in Chinese; no other floor composes or reads sentences.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "trial/reason_codes.h"

namespace ocrtune {

// The codes' numbers may change from version to version; their names are what is stored.
enum class ReasonCode : std::uint16_t {
#define OCRTUNE_REASON_CODE(name, arity) name,
  OCRTUNE_REASON_CODES(OCRTUNE_REASON_CODE)
#undef OCRTUNE_REASON_CODE
};

struct ReasonCodeRow {
  ReasonCode code;
  std::string_view name;  // as the enumerator
  std::size_t arity;      // arguments
};

inline constexpr ReasonCodeRow kReasonCodes[] = {
#define OCRTUNE_REASON_CODE(name, arity) {ReasonCode::name, #name, arity},
    OCRTUNE_REASON_CODES(OCRTUNE_REASON_CODE)
#undef OCRTUNE_REASON_CODE
};

constexpr const ReasonCodeRow& row_of(ReasonCode code) {
  return kReasonCodes[static_cast<std::size_t>(code)];
}

enum class Unit : std::uint8_t {
  count,    // a whole number of things
  decimal,  // with so many digits behind the point
  general,  // with so many digits in all, or as a whole number where that has more
  bytes,
  seconds,
  share,        // of one, shown in percent
  rate,         // three or four digits
  sample_rate,  // the same, with its name behind it: rate_name()
  request_rate,
  step_rate,  // of steps whose batch is not known
  run_rate,   // of whole runs of a program
};

struct Number {
  double value = 0;
  Unit unit = Unit::count;
  int digits = 0;  // of decimal and general

  bool operator==(const Number&) const = default;
};

struct Reason;

// Text is what has no language: a setting, a path, a line of a log. A reason stands where words go
// into words.
struct Argument {
  std::variant<std::string, Number, std::shared_ptr<const Reason>> value;

  Argument(std::string text) : value(std::move(text)) {}    // NOLINT(google-explicit-constructor)
  Argument(const char* text) : value(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  Argument(Number number) : value(number) {}                // NOLINT(google-explicit-constructor)
  Argument(Reason reason);                                  // NOLINT(google-explicit-constructor)

  bool operator==(const Argument&) const;
};

struct Reason {
  ReasonCode code = ReasonCode::none;
  std::vector<Argument> arguments;

  bool empty() const { return code == ReasonCode::none; }
  bool is(ReasonCode other) const { return code == other; }
  // The number, text or reason at this place; 0 or empty where something else stands.
  double number(std::size_t argument) const;
  std::string text(std::size_t argument) const;
  const Reason& nested(std::size_t argument) const;
  bool operator==(const Reason&) const = default;
};

template <ReasonCode code, typename... Arguments>
Reason reason(Arguments&&... arguments) {
  static_assert(sizeof...(Arguments) == row_of(code).arity, "as many arguments as the code takes");
  return Reason{code, {Argument(std::forward<Arguments>(arguments))...}};
}

// What an operating system, a library or the user's program said: the same in both languages.
inline Reason verbatim(std::string text) {
  return text.empty() ? Reason() : reason<ReasonCode::verbatim>(std::move(text));
}

inline Number counted(std::integral auto things) {
  return {static_cast<double>(things), Unit::count};
}
inline Number decimal(double value, int digits) { return {value, Unit::decimal, digits}; }
inline Number general(double value, int digits) { return {value, Unit::general, digits}; }
inline Number in_bytes(double bytes) { return {bytes, Unit::bytes}; }
inline Number in_seconds(double seconds) { return {seconds, Unit::seconds}; }
inline Number in_percent(double share) { return {share, Unit::share}; }
inline Number as_rate(double value) { return {value, Unit::rate}; }

constexpr const char* rate_name(Unit unit) {
  return unit == Unit::request_rate ? "requests/s"
         : unit == Unit::step_rate  ? "steps/s"
         : unit == Unit::run_rate   ? "runs/s"
                                    : "samples/s";
}

}  // namespace ocrtune
