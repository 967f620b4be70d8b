// A declaration takes the address of the variable: the closure `take` writes through it when the
// flag is parsed. The variable's value at that moment is the default that help shows.
#include "cli/flags.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

std::string span_text(const Flag& flag) {
  const double low = flag.low.value_or(-kUnbounded), high = flag.high.value_or(kUnbounded);
  if (std::isfinite(low) && std::isfinite(high)) return fmt::format(" from {} to {}", low, high);
  if (std::isfinite(low)) return fmt::format(" of at least {}", low);
  return "";
}

Error refuse(const Flag& flag, const std::string& text, const std::string& kind) {
  return {ErrorKind::usage,
          fmt::format("{} '{}': needs {}{}", flag.name, text, kind, span_text(flag))};
}

bool inside(const Flag& flag, double value) {
  return value >= flag.low.value_or(-kUnbounded) && value <= flag.high.value_or(kUnbounded);
}

template <class Integer>
Status take_integer(const Flag& flag, const std::string& text, Integer& target) {
  const auto number = parse_integer(text);
  if (!number || !inside(flag, static_cast<double>(*number)) || !std::in_range<Integer>(*number)) {
    return refuse(flag, text, "a whole number");
  }
  target = static_cast<Integer>(*number);
  return Status();
}

Status take_number(const Flag& flag, const std::string& text, double& target) {
  const auto number = parse_number(text);
  if (!number || !std::isfinite(*number) || !inside(flag, *number)) {
    return refuse(flag, text, "a number");
  }
  target = *number;
  return Status();
}

}  // namespace

Flag& Flag::range(double least, double most) {
  low = least;
  high = most;
  return *this;
}

Flag& Flag::one_of(std::vector<std::string> words) {
  choices = std::move(words);
  return *this;
}

Flag& Flag::from_list(const char* list_topic) {
  topic = list_topic;
  return *this;
}

Flag& Flag::verb_of(std::vector<std::string> words) {
  verbs = std::move(words);
  return *this;
}

Flag& Flag::file() {
  paths = Paths::files;
  return *this;
}

Flag& Flag::folder() {
  paths = Paths::folders;
  return *this;
}

Flag& Flag::under(const char* title) {
  heading = title;
  return *this;
}

Flag& Flag::default_text(std::string words) {
  fallback = std::move(words);
  return *this;
}

Flag& Flag::also(const char* second_name) {
  alias = second_name;
  return *this;
}

Flag& Flag::brief(const char* one_letter) {
  letter = one_letter;
  return *this;
}

Flag& Flag::hide() {
  unseen = true;
  return *this;
}

Flag& Flag::formerly(const char* other_name) {
  old_names.emplace_back(other_name);
  return *this;
}

bool Flag::is_called(const std::string& word) const {
  return word == name || (!alias.empty() && word == alias) || (!letter.empty() && word == letter) ||
         std::find(old_names.begin(), old_names.end(), word) != old_names.end();
}

Flag& Flag::require(std::string what) {
  missing = std::move(what);
  return *this;
}

Flag& Flag::tell(bool& was_given) {
  given = &was_given;
  return *this;
}

Flag& Flag::value_optional() {
  optional_value = true;
  return *this;
}

Flag& Flags::add(const char* name, const char* metavar, std::string help) {
  Flag& flag = rows_.emplace_back();
  flag.name = name;
  flag.metavar = metavar;
  flag.help = std::move(help);
  return flag;
}

Flag& Flags::option(const char* name, std::string& target, const char* metavar, std::string help) {
  Flag& flag = add(name, metavar, std::move(help));
  flag.fallback = target;
  flag.take = [&target](const Flag&, const std::string& text) {
    target = text;
    return Status();
  };
  return flag;
}

Flag& Flags::option(const char* name, int& target, const char* metavar, std::string help) {
  Flag& flag = add(name, metavar, std::move(help));
  flag.fallback = fmt::format("{}", target);
  flag.take = [&target](const Flag& self, const std::string& text) {
    return take_integer(self, text, target);
  };
  return flag;
}

Flag& Flags::option(const char* name, std::int64_t& target, const char* metavar, std::string help) {
  Flag& flag = add(name, metavar, std::move(help));
  flag.fallback = fmt::format("{}", target);
  flag.take = [&target](const Flag& self, const std::string& text) {
    return take_integer(self, text, target);
  };
  return flag;
}

Flag& Flags::option(const char* name, std::uint64_t& target, const char* metavar,
                    std::string help) {
  Flag& flag = add(name, metavar, std::move(help));
  flag.fallback = fmt::format("{}", target);
  // Else a negative number would be refused without the bound in the message.
  flag.low = 0;
  flag.take = [&target](const Flag& self, const std::string& text) {
    return take_integer(self, text, target);
  };
  return flag;
}

Flag& Flags::option(const char* name, double& target, const char* metavar, std::string help) {
  Flag& flag = add(name, metavar, std::move(help));
  flag.fallback = fmt::format("{}", target);
  flag.take = [&target](const Flag& self, const std::string& text) {
    return take_number(self, text, target);
  };
  return flag;
}

Flag& Flags::option(const char* name, std::optional<std::int64_t>& target, const char* metavar,
                    std::string help) {
  Flag& flag = add(name, metavar, std::move(help));
  flag.take = [&target](const Flag& self, const std::string& text) {
    return take_integer(self, text, target.emplace());
  };
  return flag;
}

Flag& Flags::option(const char* name, std::vector<std::string>& target, const char* metavar,
                    std::string help) {
  Flag& flag = add(name, metavar, std::move(help));
  flag.repeated = true;
  flag.take = [&target](const Flag&, const std::string& text) {
    target.push_back(text);
    return Status();
  };
  return flag;
}

Flag& Flags::option(const char* name, std::vector<int>& target, const char* metavar,
                    std::string help) {
  Flag& flag = add(name, metavar, std::move(help));
  flag.repeated = true;
  flag.take = [&target](const Flag& self, const std::string& text) -> Status {
    for (const std::string& part : split(text, ',')) {
      if (part.empty()) {
        return Error{ErrorKind::usage,
                     fmt::format("{} '{}': an empty value between commas", self.name, text)};
      }
      int value = 0;
      OCRTUNE_TRY(take_integer(self, part, value));
      target.push_back(value);
    }
    return Status();
  };
  return flag;
}

Flag& Flags::toggle(const char* name, bool& target, std::string help) {
  Flag& flag = add(name, "", std::move(help));
  // A switch has no take(): the parser writes the variable itself.
  flag.given = &target;
  return flag;
}

Flag& Flags::argument(const char* name, std::string& target, std::string help) {
  std::string metavar = name;
  std::transform(metavar.begin(), metavar.end(), metavar.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  Flag& flag = option(name, target, metavar.c_str(), std::move(help));
  flag.positional = true;
  return flag;
}

Flag& Flags::argument(const char* name, std::vector<std::string>& target, std::string help) {
  std::string metavar = name;
  std::transform(metavar.begin(), metavar.end(), metavar.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  Flag& flag = option(name, target, metavar.c_str(), std::move(help));
  flag.positional = true;
  return flag;
}

Flag& Flags::json(bool& target) {
  return toggle("--json", target, "Print one JSON document on standard output");
}

Flag& Flags::store(std::string& target) {
  return option("--db", target, "FILE", "Use this store of runs")
      .default_text("ocrtune/runs.sqlite in $XDG_DATA_HOME")
      .file();
}

Flag& Flags::run(std::string& target) {
  // An older spelling that is still taken; help shows the argument alone.
  option("--run", target, "RUN", "Name or id of the run").hide();
  return argument("run", target, "Name or id of the run, or the beginning of its id")
      .from_list("runs");
}

Flag& Flags::out(std::string& target, const char* metavar, std::string help) {
  return option("--out", target, metavar, std::move(help)).brief("-o");
}

Result<std::uint64_t> read_size(const char* flag, const std::string& text) {
  const auto bytes = parse_bytes(text);
  if (bytes && *bytes > 0) return *bytes;
  return Error{ErrorKind::usage, fmt::format("{}: '{}' is not a size such as 8G", flag, text)};
}

}  // namespace ocrtune
