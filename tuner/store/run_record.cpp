// Names and ids: what a user may call a run, and what ocrtune calls it.
#include "tuner/store/run_record.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <string>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"

namespace ocrtune {

Status check_run_name(const std::string& name) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  };
  constexpr std::size_t kMostLetters = 64;
  if (name.size() > kMostLetters) {
    return Error{ErrorKind::usage,
                 fmt::format("--name '{}...': {} characters, and {} are the most",
                             valid_utf8(name.substr(0, 20)), name.size(), kMostLetters)};
  }
  // A letter first: an id begins with a digit.
  const bool good = !name.empty() && name != "last" &&
                    std::isalpha(static_cast<unsigned char>(name[0])) != 0 &&
                    std::all_of(name.begin(), name.end(), fits);
  if (good) return Status();
  return Error{ErrorKind::usage,
               "--name '" + name +
                   "': needs a letter, then letters, digits, '.', '_' or '-', and not \"last\""};
}

std::string new_run_id() {
  const auto now = static_cast<std::time_t>(wall_seconds());
  Random random(static_cast<std::uint64_t>(wall_seconds() * 1e6) ^
                (static_cast<std::uint64_t>(::getpid()) << 40));
  // 20 random bits, five hexadecimal digits.
  return fmt::format("{:%Y-%m-%d}-{:05x}", fmt::gmtime(now), random.next() >> 44);
}

}  // namespace ocrtune
