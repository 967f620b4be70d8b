// Four notations become one list. Every name is checked, since it becomes a word of the launcher's
// command line.
#include "extras/hosts/host_list.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxNames = 65536;
constexpr std::size_t kMaxNameLength = 253;  // RFC 1035: 255 bytes with its lengths
constexpr std::int64_t kMaxSlots = 100'000;

// A name that begins with '-' would be an option of the launcher.
bool is_host_name(const std::string& name) {
  return !name.empty() && name.size() <= kMaxNameLength && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == '@';
         });
}

Status add(std::vector<HostName>& hosts, const std::string& name, const std::string& slots,
           const std::string& place) {
  if (!is_host_name(name)) {
    return Error{ErrorKind::usage, fmt::format("{}'{}' is no name of a host", place, name)};
  }
  const auto count = parse_integer(slots);
  if (!count || *count < 1 || *count > kMaxSlots) {
    return Error{ErrorKind::usage,
                 fmt::format("{}{}: '{}' is no number of slots", place, name, slots)};
  }
  const auto same = std::find_if(hosts.begin(), hosts.end(),
                                 [&](const HostName& host) { return host.name == name; });
  if (same == hosts.end()) {
    hosts.push_back({name, static_cast<int>(*count)});
  } else {
    same->slots += static_cast<int>(*count);
  }
  return Status();
}

Status add_entry(std::vector<HostName>& hosts, const std::string& entry, const std::string& place) {
  const std::size_t colon = entry.find(':');
  if (colon == std::string::npos) return add(hosts, entry, "1", place);
  return add(hosts, entry.substr(0, colon), entry.substr(colon + 1), place);
}

// "01-03" or "7" with what stands before it.
Status expand_range(const std::string& prefix, const std::string& range,
                    std::vector<std::string>& out) {
  const std::size_t dash = range.find('-');
  const std::string first = range.substr(0, dash);
  const std::string last = dash == std::string::npos ? first : range.substr(dash + 1);
  const auto low = parse_integer(first), high = parse_integer(last);
  if (!low || !high || *low < 0 || *high < *low || prefix.size() + first.size() > kMaxNameLength ||
      static_cast<std::size_t>(*high - *low) >= kMaxNames - std::min(out.size(), kMaxNames)) {
    return Error{ErrorKind::usage, fmt::format("node list: '{}' is no range of nodes", range)};
  }
  for (std::int64_t number = *low; number <= *high; ++number) {
    out.push_back(fmt::format("{}{:0{}}", prefix, number, static_cast<int>(first.size())));
  }
  return Status();
}

// One entry, with any number of brackets: every prefix so far with every value of the next one.
Status expand_entry(const std::string& entry, std::vector<std::string>& out) {
  std::vector<std::string> names{""};
  std::size_t at = 0;
  while (at < entry.size()) {
    const std::size_t open = std::min(entry.find('[', at), entry.size());
    const std::string part = entry.substr(at, open - at);
    if (part.size() > kMaxNameLength) {
      return Error{ErrorKind::usage, fmt::format("node list: '{}' is no name of a host", part)};
    }
    for (std::string& name : names) name += part;
    if (open == entry.size()) break;
    const std::size_t close = entry.find(']', open);
    std::vector<std::string> next;
    for (const std::string& name : names) {
      for (const std::string& range : split(entry.substr(open + 1, close - open - 1), ',')) {
        OCRTUNE_TRY(expand_range(name, range, next));
      }
    }
    names = std::move(next);
    at = close + 1;
  }
  for (std::string& name : names) {
    if (!is_host_name(name)) {
      return Error{ErrorKind::usage, fmt::format("node list: '{}' is no name of a host", name)};
    }
    out.push_back(std::move(name));
  }
  return Status();
}

Result<std::vector<HostName>> read_hostfile(const std::string& path) {
  const auto text = OCRTUNE_TRY(read_file(path, 16 << 20));
  return parse_hostfile(text, path);
}

Result<std::vector<HostName>> allocation(const Environment& environment) {
  std::string nodes = environment_value(environment, "SLURM_JOB_NODELIST");
  // Slurm's older name of it.
  if (nodes.empty()) nodes = environment_value(environment, "SLURM_NODELIST");
  if (!nodes.empty()) {
    std::vector<HostName> hosts;
    const auto names = OCRTUNE_TRY(expand_node_list(nodes));
    for (const std::string& name : names) hosts.push_back({name, 1});
    return hosts;
  }
  const std::string file = environment_value(environment, "PBS_NODEFILE");
  if (!file.empty()) return read_hostfile(file);
  return Error{ErrorKind::usage,
               "--hosts: no allocation of Slurm or PBS here (SLURM_JOB_NODELIST, PBS_NODEFILE); "
               "name the hosts (a,b) or a hostfile"};
}

}  // namespace

Result<std::vector<HostName>> parse_host_list(const std::string& list) {
  std::vector<HostName> hosts;
  for (const std::string& entry : split(list, ',')) {
    OCRTUNE_TRY(add_entry(hosts, std::string(trim(entry)), "--hosts: "));
  }
  return hosts;
}

Result<std::vector<HostName>> parse_hostfile(const std::string& text, const std::string& file) {
  std::vector<HostName> hosts;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    const std::vector<std::string> fields = words(line.substr(0, line.find('#')));
    if (fields.empty()) continue;
    const std::string place = fmt::format("{}:{}: ", file, number);
    std::string slots;
    for (const std::string& field : fields) {
      if (starts_with(field, "slots=")) slots = field.substr(6);
    }
    OCRTUNE_TRY(slots.empty() ? add_entry(hosts, fields[0], place)
                              : add(hosts, fields[0], slots, place));
  }
  if (hosts.empty()) return Error{ErrorKind::usage, file + ": names no host"};
  return hosts;
}

Result<std::vector<std::string>> expand_node_list(const std::string& list) {
  std::vector<std::string> names;
  std::string entry;
  int depth = 0;
  // The comma at the end closes the last entry.
  for (const char c : list + ",") {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (depth < 0 || depth > 1) break;
    if (c != ',' || depth > 0) {
      entry += c;
      continue;
    }
    OCRTUNE_TRY(expand_entry(entry, names));
    entry.clear();
    if (names.size() > kMaxNames) {
      return Error{ErrorKind::usage, fmt::format("node list: more than {} names", kMaxNames)};
    }
  }
  if (depth != 0) {
    return Error{ErrorKind::usage, "node list: '" + list + "' has unbalanced brackets"};
  }
  return names;
}

Result<std::vector<HostName>> resolve_hosts(const std::string& wanted,
                                            const Environment& environment) {
  if (wanted.empty()) return allocation(environment);
  if (path_exists(wanted) && !is_directory(wanted)) return read_hostfile(wanted);
  if (wanted.find('/') != std::string::npos) {
    return Error{ErrorKind::missing, "--hosts: " + wanted + ": no such hostfile"};
  }
  return parse_host_list(wanted);
}

}  // namespace ocrtune
