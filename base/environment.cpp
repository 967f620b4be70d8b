// The environment block is read as it is. A word without "=" or without a name is left out. Of a
// name that stands twice the first value counts, as for getenv(3).
#include "base/environment.h"

#include <unistd.h>

namespace ocrtune {
namespace {

void add(Environment& environment, std::string_view entry) {
  const std::size_t equals = entry.find('=');
  if (equals == std::string_view::npos || equals == 0) return;
  environment.emplace(std::string(entry.substr(0, equals)), std::string(entry.substr(equals + 1)));
}

}  // namespace

Environment process_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    add(environment, *entry);
  }
  return environment;
}

Environment parse_environment(std::string_view block) {
  Environment environment;
  while (!block.empty()) {
    const std::size_t end = block.find('\0');
    add(environment, block.substr(0, end));
    if (end == std::string_view::npos) break;
    block.remove_prefix(end + 1);
  }
  return environment;
}

std::string environment_value(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

std::string host_name() {
  // gethostname(2) may leave out the final zero of a name that it cuts.
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace ocrtune
