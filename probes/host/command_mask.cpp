// Only words are read, no shell is asked. A program is known by the last part of its name, and its
// options end at the first word that is none. The text behind "-c" is read once more as words.
#include "probes/host/command_mask.h"

#include <algorithm>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

// "f", "0x3": the CPUs of a mask in hexadecimal.
std::optional<CpuSet> taskset_mask(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  // 8,192 CPUs, as many as a kernel of x86 can be built for.
  constexpr std::size_t kMaxDigits = 2048;
  if (starts_with(text, "0x")) text.remove_prefix(2);
  if (text.empty() || text.size() > kMaxDigits) return std::nullopt;
  std::vector<int> cpus;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kDigits.find(lower(text.substr(text.size() - 1 - i, 1)));
    if (digit == std::string_view::npos) return std::nullopt;
    for (int bit = 0; bit < 4; ++bit) {
      if ((digit >> bit & 1) != 0) cpus.push_back(static_cast<int>(4 * i) + bit);
    }
  }
  return CpuSet(std::move(cpus));
}

// taskset's list or mask; nothing where it changes a process that runs already.
std::optional<CpuSet> taskset_cpus(const std::vector<std::string>& command, std::size_t taskset) {
  bool list = false;
  std::size_t i = taskset + 1;
  for (; i < command.size() && starts_with(command[i], "-"); ++i) {
    const std::string& word = command[i];
    const bool longer = starts_with(word, "--");
    if (word == "--pid" || (!longer && word.find('p') != std::string::npos)) return std::nullopt;
    list = list || word == "--cpu-list" || (!longer && word.find('c') != std::string::npos);
  }
  if (i >= command.size()) return std::nullopt;
  if (!list) return taskset_mask(command[i]);
  const auto cpus = CpuSet::parse(command[i]);
  return cpus ? std::optional(*cpus) : std::nullopt;
}

// "0-3", "!0", "+0-3" (counted among the allowed), "all".
std::optional<CpuSet> numactl_list(std::string_view text, const CpuSet& all,
                                   const CpuSet& allowed) {
  if (text == "all") return all;
  const bool inverse = starts_with(text, "!"), relative = starts_with(text, "+");
  const auto list = CpuSet::parse(text.substr(inverse || relative ? 1 : 0));
  if (!list || list->empty()) return std::nullopt;
  if (inverse) return all.minus(*list);
  if (!relative) return *list;
  std::vector<int> chosen;
  for (const int index : list->cpus()) {
    if (index >= allowed.count()) return std::nullopt;
    chosen.push_back(allowed.cpus()[static_cast<std::size_t>(index)]);
  }
  return CpuSet(std::move(chosen));
}

std::optional<CpuSet> numactl_cpus(const std::vector<std::string>& command, std::size_t numactl,
                                   const CpuFacts& cpu) {
  if (const auto list = numactl_value(command, numactl, {"--physcpubind", "-C"})) {
    return numactl_list(*list, cpu.allowed, cpu.allowed);
  }
  const auto list = numactl_value(command, numactl, {"--cpunodebind", "-N"});
  if (!list) return std::nullopt;
  std::vector<int> numbers, cpus;
  for (const CpuPlace& place : cpu.places) numbers.push_back(place.numa);
  const CpuSet there(numbers);
  const auto nodes = numactl_list(*list, there, there);
  if (!nodes) return std::nullopt;
  for (const CpuPlace& place : cpu.places) {
    if (nodes->contains(place.numa)) cpus.push_back(place.cpu);
  }
  return CpuSet(std::move(cpus));
}

void collect_masks(const std::vector<std::string>& command, const CpuFacts& cpu,
                   std::vector<CpuSet>& masks) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string name = base_name(command[i]);
    std::optional<CpuSet> mask;
    if (name == "taskset") mask = taskset_cpus(command, i);
    if (name == "numactl") mask = numactl_cpus(command, i, cpu);
    if (mask) masks.push_back(*mask);
    if (i > 0 && command[i - 1] == "-c" && command[i].find(' ') != std::string::npos) {
      collect_masks(words(command[i]), cpu, masks);
    }
  }
}

}  // namespace

std::optional<std::string> numactl_value(const std::vector<std::string>& command,
                                         std::size_t numactl,
                                         std::initializer_list<std::string_view> names) {
  // numactl(8). An option that is missing here would make its value look like the program's name.
  constexpr std::string_view kShortWithValue = "ipPwCNm";
  constexpr std::string_view kLongWithValue[] = {
      "--interleave", "--preferred",      "--physcpubind",        "--cpunodebind",
      "--membind",    "--preferred-many", "--weighted-interleave"};
  for (std::size_t i = numactl + 1; i < command.size() && starts_with(command[i], "-"); ++i) {
    const std::string& word = command[i];
    if (word == "--") return std::nullopt;
    const std::string next = i + 1 < command.size() ? command[i + 1] : "";
    for (const std::string_view name : names) {
      if (word == name) return next;
      const bool is_long = starts_with(name, "--");
      const std::string head = std::string(name) + (is_long ? "=" : "");
      if (starts_with(word, head) && (is_long || !starts_with(word, "--"))) {
        return word.substr(head.size());
      }
    }
    const bool takes_next =
        (word.size() == 2 && kShortWithValue.find(word[1]) != std::string_view::npos) ||
        std::find(std::begin(kLongWithValue), std::end(kLongWithValue), word) !=
            std::end(kLongWithValue);
    if (takes_next) ++i;
  }
  return std::nullopt;
}

std::optional<CpuSet> cpus_by_words(const std::vector<std::string>& command, const CpuFacts& cpu) {
  std::vector<CpuSet> masks;
  collect_masks(command, cpu, masks);
  // Several masks bind several programs: which of them is measured is not known.
  if (masks.size() != 1) return std::nullopt;
  const CpuSet mask = cpu.allowed.empty() ? masks[0] : masks[0].intersect(cpu.allowed);
  return mask.empty() ? std::nullopt : std::optional(mask);
}

CpuFacts cpus_of(CpuFacts cpu, const std::vector<std::string>& command) {
  const auto mask = cpus_by_words(command, cpu);
  if (!mask) return cpu;
  const double count = mask->count();
  cpu.allowed = *mask;
  // A quota below the mask's size still binds, so the mask is no limit then.
  if (!cpu.usable_cpus.known() || *cpu.usable_cpus.value > count) {
    cpu.usable_cpus = {count, "a mask in the command"};
    cpu.limits.insert(cpu.limits.begin(), {count, cpu.usable_cpus.source});
  }
  if (cpu.effective_cores.known()) {
    cpu.effective_cores.value = std::min(*cpu.effective_cores.value, count);
  }
  return cpu;
}

}  // namespace ocrtune
