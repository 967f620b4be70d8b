// The sentences stand in tuner_reasons.h, one row for each code. The compiler checks here that a
// row has as many holes in both languages as its code has arguments.
#include "reports/catalogue/reasons.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/holes.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/tuner_reasons.h"

namespace ocrtune {
namespace {

// A bit for each argument that is shown.
constexpr std::uint32_t holes_of(std::string_view text) {
  std::uint32_t holes = 0;
  std::size_t next = 0;
  for (std::size_t open = text.find('{'); open != std::string_view::npos;
       open = text.find('{', open + 1)) {
    const std::size_t close = text.find('}', open);
    const Hole hole = read_hole(text.substr(open + 1, close - open - 1), next);
    if (!hole.chooses()) holes |= 1U << hole.argument;
  }
  return holes;
}

constexpr bool is_complete(const ReasonRow* rows, std::size_t count) {
  if (count != std::size(kReasonCodes)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t wanted = (1U << kReasonCodes[i].arity) - 1;
    if (rows[i].code != kReasonCodes[i].code) return false;
    if (holes_of(rows[i].english) != wanted || holes_of(rows[i].chinese) != wanted) return false;
  }
  return true;
}
static_assert(is_complete(kTunerReasons, std::size(kTunerReasons)),
              "a row for each code, in order, with a hole for each argument in both languages");

// Without a minus before a zero.
std::string decimal_text(double value, int digits) {
  std::string text = fmt::format("{:.{}f}", value, digits);
  const bool zero = text.find_first_not_of("-0.") == std::string::npos;
  return zero && starts_with(text, "-") ? text.substr(1) : text;
}

std::string number_text(const Number& number, Language language) {
  switch (number.unit) {
    case Unit::count:
      return fmt::format("{:.0f}", number.value);
    case Unit::decimal:
      return decimal_text(number.value, number.digits);
    case Unit::general:
      // From here on {:g} rounds up to a power of ten and writes "1e+04".
      if (number.value >= std::pow(10, number.digits) - 0.5)
        return fmt::format("{:.0f}", number.value);
      return fmt::format("{:.{}g}", number.value, number.digits);
    case Unit::bytes:
      return format_bytes(static_cast<std::uint64_t>(std::max(0.0, number.value)));
    case Unit::seconds:
      return language == Language::english ? format_duration(number.value)
                                           : duration_text(number.value).chinese;
    case Unit::share:
      return format_percent(number.value);
    case Unit::rate:
      return format_count(number.value);
    case Unit::sample_rate:
    case Unit::request_rate:
    case Unit::step_rate:
    case Unit::run_rate: {
      const Bilingual unit = phrase(rate_name(number.unit));
      return format_count(number.value) + " " +
             (language == Language::english ? unit.english : unit.chinese);
    }
  }
  return "";
}

std::string text_of(const Argument& argument, Language language) {
  if (const auto* text = std::get_if<std::string>(&argument.value)) return *text;
  if (const auto* number = std::get_if<Number>(&argument.value))
    return number_text(*number, language);
  return sentence(*std::get<std::shared_ptr<const Reason>>(argument.value), language);
}

std::string fill(std::string_view text, const Reason& reason, Language language) {
  std::string out;
  std::size_t next = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '{') {
      // What was said elsewhere may have ended its sentence.
      const bool ends_twice =
          text[at] == '.' && at > 0 && text[at - 1] == '}' && ends_with(out, ".");
      if (!ends_twice) out += text[at];
      continue;
    }
    const std::size_t close = text.find('}', at);
    const Hole hole = read_hole(text.substr(at + 1, close - at - 1), next);
    const std::string shown = hole.argument < reason.arguments.size()
                                  ? text_of(reason.arguments[hole.argument], language)
                                  : "";
    if (hole.chooses()) {
      out += shown == "1" ? hole.one : hole.many;  // as it is read, not as it was computed
    } else {
      out += shown;
    }
    at = close;
  }
  return out;
}

template <typename Said>
std::string say_both(const Said& said, const char* tag) {
  const auto html = [&](Language language) {
    return html_text(plain_line(sentence(said, language)));
  };
  return both_languages(tag, html(Language::english), html(Language::chinese));
}

}  // namespace

std::string sentence(const Reason& reason, Language language) {
  // A verbatim reason is an English sentence that was composed elsewhere; it is looked up whole.
  if (reason.is(ReasonCode::verbatim) && language == Language::chinese) {
    return chinese_of(reason.text(0));
  }
  const ReasonRow& row = kTunerReasons[static_cast<std::size_t>(reason.code)];
  return fill(language == Language::english ? row.english : row.chinese, reason, language);
}

std::string sentence(const std::vector<Reason>& reasons, Language language) {
  std::vector<std::string> sentences;
  for (const Reason& reason : reasons) sentences.push_back(sentence(reason, language));
  return join(sentences, language == Language::english ? " " : "");
}

std::string say(const Reason& reason, const char* tag) { return say_both(reason, tag); }
std::string say(const std::vector<Reason>& reasons, const char* tag) {
  return say_both(reasons, tag);
}

}  // namespace ocrtune
