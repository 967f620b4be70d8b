// Only ports need the addition: three or four digits before {copy}, and a copy of two digits.
#include "trial/workloads/command/copy_number.h"

#include <cctype>
#include <string_view>

namespace ocrtune {

std::string fill_copy(std::string text, int number) {
  constexpr std::string_view kName = "{copy}";
  for (std::size_t at = 0; (at = text.find(kName, at)) != std::string::npos;) {
    std::size_t digits = at;
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(text[digits - 1])) != 0) --digits;
    std::string value = std::to_string(number);
    std::size_t begin = at;
    // Up to 9 the digit is appended, which makes the same port.
    if (number > 9 && at - digits >= 3 && at - digits <= 4) {
      value = std::to_string(10 * std::stoi(text.substr(digits, at - digits)) + number);
      begin = digits;
    }
    text.replace(begin, at + kName.size() - begin, value);
    at = begin + value.size();
  }
  return text;
}

}  // namespace ocrtune
