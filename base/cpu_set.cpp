#include "base/cpu_set.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr int kMaxCpus = 65536;

// A kernel CPU mask of our own size: cpu_set_t stops at 1,024 CPUs.
struct KernelMask {
  std::vector<unsigned long> words = std::vector<unsigned long>(kMaxCpus / kWordBits);
  static constexpr int kWordBits = 8 * sizeof(unsigned long);
  cpu_set_t* get() { return reinterpret_cast<cpu_set_t*>(words.data()); }
  std::size_t bytes() const { return words.size() * sizeof(unsigned long); }
};

}  // namespace

CpuSet::CpuSet(std::vector<int> cpus) : cpus_(std::move(cpus)) {
  std::sort(cpus_.begin(), cpus_.end());
  cpus_.erase(std::unique(cpus_.begin(), cpus_.end()), cpus_.end());
}

CpuSet CpuSet::range(int first, int last) {
  std::vector<int> cpus;
  for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  return CpuSet(std::move(cpus));
}

Result<CpuSet> CpuSet::parse(std::string_view list) {
  std::vector<int> cpus;
  const std::string_view text = trim(list);
  if (text.empty()) return CpuSet();
  for (const std::string& part : split(text, ',')) {
    const auto ends = split(part, '-');
    const auto first = parse_integer(ends.front());
    const auto last = parse_integer(ends.back());
    if (ends.size() > 2 || !first || !last || *first < 0 || *last < *first || *last >= kMaxCpus) {
      return Error{ErrorKind::invalid, fmt::format("'{}' is not a CPU list such as 0-3,8", list)};
    }
    for (auto cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return CpuSet(std::move(cpus));
}

bool CpuSet::contains(int cpu) const { return std::binary_search(cpus_.begin(), cpus_.end(), cpu); }

CpuSet CpuSet::intersect(const CpuSet& other) const {
  CpuSet out;
  std::set_intersection(cpus_.begin(), cpus_.end(), other.cpus_.begin(), other.cpus_.end(),
                        std::back_inserter(out.cpus_));
  return out;
}

CpuSet CpuSet::unite(const CpuSet& other) const {
  CpuSet out;
  std::set_union(cpus_.begin(), cpus_.end(), other.cpus_.begin(), other.cpus_.end(),
                 std::back_inserter(out.cpus_));
  return out;
}

CpuSet CpuSet::minus(const CpuSet& other) const {
  CpuSet out;
  std::set_difference(cpus_.begin(), cpus_.end(), other.cpus_.begin(), other.cpus_.end(),
                      std::back_inserter(out.cpus_));
  return out;
}

std::string CpuSet::text() const {
  std::string out;
  for (std::size_t i = 0; i < cpus_.size();) {
    std::size_t j = i;
    while (j + 1 < cpus_.size() && cpus_[j + 1] == cpus_[j] + 1) ++j;
    if (!out.empty()) out += ',';
    out += i == j ? fmt::format("{}", cpus_[i]) : fmt::format("{}-{}", cpus_[i], cpus_[j]);
    i = j + 1;
  }
  return out;
}

CpuSet current_affinity() {
  KernelMask mask;
  if (::sched_getaffinity(0, mask.bytes(), mask.get()) != 0) return CpuSet();
  std::vector<int> cpus;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    const auto word = mask.words[static_cast<std::size_t>(cpu / KernelMask::kWordBits)];
    if ((word >> (cpu % KernelMask::kWordBits)) & 1U) cpus.push_back(cpu);
  }
  return CpuSet(std::move(cpus));
}

Status set_affinity(int pid, const CpuSet& set) {
  KernelMask mask;
  for (int cpu : set.cpus()) {
    mask.words[static_cast<std::size_t>(cpu / KernelMask::kWordBits)] |=
        1UL << (cpu % KernelMask::kWordBits);
  }
  if (::sched_setaffinity(pid, mask.bytes(), mask.get()) != 0) {
    return system_error(errno, "bind to CPUs " + set.text());
  }
  return Status();
}

}  // namespace ocrtune
