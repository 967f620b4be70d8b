// Sets as sorted vectors, for they have few members; the kernel's bit masks only at the system
// call. The mask at the start is read from .preinit_array, in front of every library's constructor.
#include "base/cpu_set.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

// Above any kernel's NR_CPUS. It bounds what a list such as "0-4000000000" can cost.
constexpr int kMaxCpus = 65536;

// A kernel CPU mask of our own size: cpu_set_t stops at 1,024 CPUs.
struct KernelMask {
  static constexpr int kWordBits = 8 * sizeof(unsigned long);
  unsigned long words[kMaxCpus / kWordBits] = {};
  cpu_set_t* get() { return reinterpret_cast<cpu_set_t*>(words); }

  void set(int cpu) { words[cpu / kWordBits] |= 1UL << (cpu % kWordBits); }
  CpuSet cpus() const {
    std::vector<int> cpus;
    for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
      if ((words[cpu / kWordBits] >> (cpu % kWordBits)) & 1U) cpus.push_back(cpu);
    }
    return CpuSet(std::move(cpus));
  }
};

// Zero from the image: a constructor would run after keep_mask() and wipe what it read.
constinit KernelMask g_at_start;

// Runs before the constructors of all libraries, so no sanitizer has begun either.
[[gnu::no_sanitize("address", "thread", "undefined")]] void keep_mask(int /*count*/,
                                                                      char** /*arguments*/,
                                                                      char** /*environment*/) {
  ::syscall(SYS_sched_getaffinity, 0, sizeof g_at_start.words, g_at_start.words);
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const kKeepMask)(int, char**,
                                                                      char**) = keep_mask;

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
    // "5" has one end, which is both; "-5" and "5-" have an empty one, which is no number.
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
  // The whole mask of 65,536 bits: the call fails (EINVAL) with one shorter than the kernel's.
  KernelMask mask;
  if (::sched_getaffinity(0, sizeof mask.words, mask.get()) != 0) return CpuSet();
  return mask.cpus();
}

CpuSet affinity_at_start() { return g_at_start.cpus(); }

Status set_affinity(int pid, const CpuSet& set) {
  KernelMask mask;
  for (const int cpu : set.cpus()) mask.set(cpu);
  if (::sched_setaffinity(pid, sizeof mask.words, mask.get()) != 0) {
    return system_error(errno, "bind to CPUs " + set.text());
  }
  return Status();
}

}  // namespace ocrtune
