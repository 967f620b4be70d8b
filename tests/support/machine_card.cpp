#include "tests/support/machine_card.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/cpu_set.h"
#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

using Json = nlohmann::json;

struct Cpu {
  int package = 0, core = 0;
  std::vector<int> siblings;
  std::string l3, l3_size;
  int capacity = 0;
};

CpuSet set_of(const std::string& list) {
  if (list == "-") return {};
  const auto set = CpuSet::parse(list);
  EXPECT_TRUE(set) << list;
  return set ? *set : CpuSet();
}

// As the kernel writes masks: words of 32 bits, the highest first.
std::string mask_text(const CpuSet& cpus, int count) {
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(count / 32 + 1));
  for (const int cpu : cpus.cpus()) {
    bits[static_cast<std::size_t>(cpu / 32)] |= 1U << static_cast<unsigned>(cpu % 32);
  }
  std::vector<std::string> texts;
  for (auto word = bits.rbegin(); word != bits.rend(); ++word) {
    texts.push_back(fmt::format("{:08x}", *word));
  }
  return join(texts, ",") + "\n";
}

// "{4i+2}" and "{i/4}" for one i.
std::string with_count(const std::string& line, int i) {
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = line.find('}', at);
    if (line[at] != '{' || end == std::string::npos) {
      out += line[at++];
      continue;
    }
    const std::string inside = line.substr(at + 1, end - at - 1);
    const std::size_t letter = inside.find('i');
    const auto factor = letter == 0 ? 1 : parse_integer(inside.substr(0, letter)).value_or(1);
    auto value = factor * i;
    const std::string rest = inside.substr(letter + 1);
    if (!rest.empty()) {
      const auto number = parse_integer(rest.substr(1)).value_or(1);
      value = rest[0] == '/' ? value / number : value + number;
    }
    out += fmt::format("{}", value);
    at = end + 1;
  }
  return out;
}

class Reader {
 public:
  explicit Reader(MachineCard& card) : card_(card) {}

  void read(const std::string& text) {
    for (const std::string& line : split(text, '\n')) {
      if (starts_with(line, "|")) {
        ASSERT_FALSE(card_.files.empty()) << line;
        card_.files.back().second += line.size() > 2 ? line.substr(2) + "\n" : "\n";
      } else if (!trim(line).empty() && line[0] != '#') {
        take(line);
      }
    }
    finish();
  }

 private:
  void file(const std::string& path, const std::string& text) {
    card_.files.emplace_back(path, text);
  }
  bool has_file(const std::string& path) const {
    return std::any_of(card_.files.begin(), card_.files.end(),
                       [&](const auto& one) { return one.first == path; });
  }
  void plain(const std::string& path, const std::string& text) {
    if (absent_.count(path) == 0 && !has_file(path)) file(path, text);
  }

  void take(const std::string& line) {
    const auto fields = words(line);
    const std::string& key = fields[0];
    const std::string rest(trim(std::string_view(line).substr(key.size())));
    if (key == "repeat") {
      const std::string pattern(trim(std::string_view(rest).substr(fields[1].size())));
      const auto times = parse_integer(fields[1]).value_or(0);
      for (int i = 0; i < times; ++i) take(with_count(pattern, i));
    } else if (key == "cpus") {
      take_cpus(fields);
    } else if (key == "node") {
      nodes_.push_back(fields);
    } else if (key == "model") {
      take_model(fields, rest);
    } else if (key == "memory") {
      take_memory(fields);
    } else if (key == "file") {
      file(rest, "");
    } else if (key == "no") {
      absent_.insert(rest);
    } else if (key == "cgroup2") {
      take_cgroup(rest);
    } else if (key == "expect") {
      const std::string value =
          fields.size() > 3 ? rest.substr(rest.find(fields[2], fields[1].size()) + fields[2].size())
                            : "";
      card_.expectations.push_back({fields[1], fields[2], std::string(trim(value))});
    } else if (key == "capacity") {
      const CpuSet named = set_of(fields[1]);
      for (const int cpu : named.cpus()) {
        cpus_[cpu].capacity = static_cast<int>(parse_integer(fields[2]).value_or(0));
      }
    } else {
      static const std::set<std::string> kPlain = {"kernel", "host",    "os",     "allowed",
                                                   "mems",   "offline", "online", "environ"};
      ASSERT_EQ(kPlain.count(key), 1U) << card_.name << ": " << line;
      plain_[key] = rest;
    }
  }

  void take_cpus(const std::vector<std::string>& fields) {
    std::vector<std::vector<int>> threads = {set_of(fields[1]).cpus()};
    Cpu shape;
    for (std::size_t i = 2; i + 1 < fields.size(); ++i) {
      const std::string& value = fields[i + 1];
      if (fields[i] == "siblings") threads.push_back(set_of(value).cpus());
      if (fields[i] == "package")
        shape.package = static_cast<int>(parse_integer(value).value_or(0));
      if (fields[i] == "l3" && value != "-") {
        shape.l3 = value;
        shape.l3_size = fields[i + 2];
      }
    }
    for (std::size_t core = 0; core < threads[0].size(); ++core) {
      shape.core = cores_[shape.package]++;
      shape.siblings.clear();
      for (const auto& row : threads) shape.siblings.push_back(row.at(core));
      for (const int cpu : shape.siblings) {
        const int capacity = cpus_[cpu].capacity;
        cpus_[cpu] = shape;
        cpus_[cpu].capacity = capacity;
      }
    }
  }

  void take_model(const std::vector<std::string>& fields, const std::string& rest) {
    const auto parts = split(rest, '|');
    const CpuSet named = set_of(fields[2]);
    for (const int cpu : named.cpus()) {
      if (fields[1] == "x86") {
        cpuinfo_[cpu] =
            fmt::format("processor\t: {}\nvendor_id\t: {}\nmodel name\t: {}\nflags\t\t: {}\n\n",
                        cpu, fields[3], trim(parts.at(1)), trim(parts.at(2)));
      } else {
        cpuinfo_[cpu] = fmt::format(
            "processor\t: {}\nBogoMIPS\t: 50.00\nFeatures\t: {}\nCPU implementer\t: {}\n"
            "CPU architecture: 8\nCPU variant\t: {}\nCPU part\t: {}\nCPU revision\t: 0\n\n",
            cpu, trim(parts.at(1)), fields[3], fields[5], fields[4]);
      }
    }
  }

  void take_memory(const std::vector<std::string>& fields) {
    static const std::map<std::string, std::vector<const char*>> kNames = {
        {"total", {"MemTotal"}},
        {"available", {"MemFree", "MemAvailable"}},
        {"hugetlb", {"Hugetlb"}},
        {"swap", {"SwapTotal", "SwapFree"}}};
    std::string text;
    for (std::size_t i = 1; i + 1 < fields.size(); i += 2) {
      for (const char* name : kNames.at(fields[i])) {
        text += fmt::format("{}:{:>20} kB\n", name, fields[i + 1]);
      }
    }
    file("/proc/meminfo", text);
  }

  void take_cgroup(const std::string& path) {
    file("/proc/self/cgroup", "0::" + path + "\n");
    file("/proc/self/mountinfo", "30 23 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
    std::string at = path;
    if (path == "/") file("/sys/fs/cgroup/cgroup.events", "populated 1\n");  // of a namespace
    while (at.size() > 1) {
      file("/sys/fs/cgroup" + at + "/cgroup.events", "populated 1\n");
      at.resize(at.rfind('/'));
    }
  }

  CpuSet present() const {
    std::vector<int> all;
    for (const auto& [cpu, shape] : cpus_) all.push_back(cpu);
    return CpuSet(std::move(all)).unite(offline());
  }
  CpuSet offline() const {
    const auto found = plain_.find("offline");
    return found == plain_.end() ? CpuSet() : set_of(found->second);
  }
  CpuSet on() const {
    const auto found = plain_.find("online");
    return found == plain_.end() ? present().minus(offline()) : set_of(found->second);
  }

  void write_cpus() {
    const CpuSet all = present();
    const CpuSet off = offline();
    if (all.empty()) return;
    const int count = all.cpus().back() + 1;
    const std::string folder = "/sys/devices/system/cpu/";
    plain(folder + "present", all.text() + "\n");
    plain(folder + "possible", all.text() + "\n");
    plain(folder + "online", on().text() + "\n");
    plain(folder + "offline", off.text() + "\n");
    std::map<int, CpuSet> packages;
    std::map<std::string, CpuSet> caches;
    for (const auto& [cpu, shape] : cpus_) {
      if (off.contains(cpu)) continue;
      packages[shape.package] = packages[shape.package].unite(CpuSet({cpu}));
      if (!shape.l3.empty()) caches[shape.l3] = caches[shape.l3].unite(CpuSet({cpu}));
    }
    for (const auto& [cpu, shape] : cpus_) {
      if (off.contains(cpu)) continue;
      const std::string at = fmt::format("{}cpu{}/", folder, cpu);
      file(at + "topology/physical_package_id", fmt::format("{}\n", shape.package));
      file(at + "topology/core_id", fmt::format("{}\n", shape.core));
      const CpuSet siblings = CpuSet(shape.siblings).minus(off);
      file(at + "topology/thread_siblings", mask_text(siblings, count));
      file(at + "topology/thread_siblings_list", siblings.text() + "\n");
      file(at + "topology/core_siblings", mask_text(packages[shape.package], count));
      if (shape.capacity > 0) file(at + "cpu_capacity", fmt::format("{}\n", shape.capacity));
      if (shape.l3.empty()) continue;
      file(at + "cache/index3/level", "3\n");
      file(at + "cache/index3/type", "Unified\n");
      file(at + "cache/index3/size", shape.l3_size + "\n");
      file(at + "cache/index3/shared_cpu_map", mask_text(caches[shape.l3], count));
      file(at + "cache/index3/shared_cpu_list", caches[shape.l3].text() + "\n");
    }
  }

  void write_node(const std::vector<std::string>& fields) {
    std::map<std::string, std::string> values;
    std::string distances;
    for (std::size_t i = 2; i < fields.size(); i += 2) {
      if (fields[i] == "distance") {
        distances = join({fields.begin() + static_cast<long>(i) + 1, fields.end()}, " ");
        break;
      }
      values[fields[i]] = fields.at(i + 1);
    }
    const std::string n = fields[1];
    const std::string folder = "/sys/devices/system/node/node" + n + "/";
    const int count = present().empty() ? 1 : present().cpus().back() + 1;
    file(folder + "cpumap", mask_text(set_of(values["cpus"]), count));
    file(folder + "meminfo",
         fmt::format("Node {0} MemTotal:       {1} kB\nNode {0} MemFree:        {2} kB\n", n,
                     values["memory"], values["free"]));
    if (!distances.empty()) file(folder + "distance", distances + "\n");
    if (const auto huge = parse_integer(values["huge"]); huge && *huge > 0) {
      file(folder + "hugepages/hugepages-1048576kB/nr_hugepages",
           fmt::format("{}\n", *huge / 1048576));
    }
  }

  void finish() {
    write_cpus();
    std::vector<std::string> numbers;
    for (const auto& node : nodes_) {
      write_node(node);
      numbers.push_back(node[1]);
    }
    if (!numbers.empty()) {
      plain("/sys/devices/system/node/online", set_of(join(numbers, ",")).text() + "\n");
    }
    std::string cpuinfo;
    for (const auto& [cpu, text] : cpuinfo_) cpuinfo += text;
    if (!cpuinfo.empty()) plain("/proc/cpuinfo", cpuinfo);
    std::string status = "Name:\tbash\n";
    if (plain_.count("allowed") != 0) status += "Cpus_allowed_list:\t" + plain_["allowed"] + "\n";
    if (plain_.count("mems") != 0) status += "Mems_allowed_list:\t" + plain_["mems"] + "\n";
    plain("/proc/self/status", status);
    std::string environment;
    for (const std::string& one : words(plain_["environ"]))
      environment += one + std::string(1, '\0');
    plain("/proc/self/environ", environment);
    plain("/proc/sys/kernel/osrelease", plain_["kernel"] + "\n");
    plain("/proc/sys/kernel/hostname", plain_["host"] + "\n");
    plain("/etc/os-release", "PRETTY_NAME=\"" + plain_["os"] + "\"\n");
  }

  MachineCard& card_;
  std::map<int, Cpu> cpus_;
  std::map<int, int> cores_;
  std::map<int, std::string> cpuinfo_;
  std::map<std::string, std::string> plain_;
  std::set<std::string> absent_;
  std::vector<std::vector<std::string>> nodes_;
};

// The values of all rows of that name.
Json settings_of(const Json& document, const std::string& name) {
  std::vector<std::string> values;
  for (const Json& row : document["system"]["settings"]) {
    if (row["name"] == name) values.push_back(row["value"]);
  }
  return join(values, "; ");
}

std::optional<Json> find(const Json& document, const std::string& key) {
  if (starts_with(key, "setting.")) return settings_of(document, key.substr(8));
  const Json* at = &document;
  for (const std::string& part : split(key, '.')) {
    const auto index = parse_integer(part);
    if (at->is_array() && index && static_cast<std::size_t>(*index) < at->size()) {
      at = &(*at)[static_cast<std::size_t>(*index)];
    } else if (at->is_object() && at->contains(part)) {
      at = &(*at)[part];
    } else {
      return std::nullopt;
    }
  }
  return *at;
}

std::string shown(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool holds(const Json& found, const std::string& relation, const std::string& wanted) {
  const std::string text = shown(found);
  const auto is_in = [&] {
    if (!found.is_array()) return text.find(wanted) != std::string::npos;
    return std::find(found.begin(), found.end(), Json(wanted)) != found.end();
  };
  if (relation == "~") return text.find(wanted) != std::string::npos;
  if (relation == "has") return is_in();
  if (relation == "lacks") return !is_in();
  if (relation == "count") return fmt::format("{}", found.size()) == wanted;
  const bool kib = ends_with(wanted, "K");
  const auto number = parse_number(kib ? wanted.substr(0, wanted.size() - 1) : wanted);
  if (!found.is_number() || !number) return relation == "=" && text == wanted;
  const double value = *number * (kib ? 1024 : 1);
  if (relation == "<=") return found.get<double>() <= value;
  return relation == "=" && found.get<double>() == value;
}

}  // namespace

MachineCard read_card(const std::string& name, const std::string& text) {
  MachineCard card;
  card.name = name;
  Reader(card).read(text);
  return card;
}

void write_tree(const MachineCard& card, const std::string& folder) {
  std::set<std::string> made;
  for (const auto& [path, text] : card.files) {
    const std::string full = folder + path;
    if (made.insert(parent_path(full)).second) {
      ASSERT_TRUE(make_directories(parent_path(full)).ok()) << full;
    }
    std::FILE* out = std::fopen(full.c_str(), "w");
    ASSERT_NE(out, nullptr) << full;
    EXPECT_EQ(std::fwrite(text.data(), 1, text.size(), out), text.size());
    std::fclose(out);
  }
}

std::vector<std::string> unmet(const MachineCard& card, const std::string& probe_json) {
  const Json document = Json::parse(probe_json);
  std::vector<std::string> lines;
  for (const CardExpectation& expected : card.expectations) {
    const auto found = find(document, expected.key);
    if (found && holds(*found, expected.relation, expected.value)) continue;
    lines.push_back(fmt::format("{}: {} {} {}, found {}", card.name, expected.key,
                                expected.relation, expected.value,
                                found ? shown(*found) : "no such key"));
  }
  return lines;
}

}  // namespace ocrtune
