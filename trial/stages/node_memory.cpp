// Both halves are samples: pages by node from one reading of numa_maps, threads by node from the
// CPU on which each ran at a look. The overlap of the two distributions is what lies well.
#include "trial/stages/node_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/cpu_set.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr double kStep = 0.002;   // seconds of CPU time, after which the next look goes on
constexpr std::size_t kCpu = 36;  // in stat, counted from the state on
constexpr std::size_t kMaxThreadsRead = 256;
constexpr double kLeastBytes = 64e6, kLeastLooks = 8;
constexpr double kMemoryOf = 0.25, kThreadsOf = 0.1;  // of the whole, from which a node is named

double sum_of(const std::map<int, double>& nodes) {
  double sum = 0;
  for (const auto& [node, share] : nodes) sum += share;
  return sum;
}

std::string nodes_above(const std::map<int, double>& nodes, double share) {
  std::vector<int> named;
  for (const auto& [node, part] : nodes) {
    if (part >= share * sum_of(nodes)) named.push_back(node);
  }
  return CpuSet(std::move(named)).text();
}

}  // namespace

std::map<int, double> mapped_bytes(const std::string& line) {
  std::map<int, double> pages;
  double page_bytes = 4096;
  constexpr std::string_view kSize = "kernelpagesize_kB=";
  for (const std::string& word : words(line)) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    const auto value = parse_integer(word.substr(equals + 1));
    if (!value) continue;
    if (starts_with(word, kSize)) page_bytes = 1024 * static_cast<double>(*value);
    const auto node =
        word[0] == 'N' ? parse_integer(word.substr(1, equals - 1)) : Result<std::int64_t>(-1);
    if (node && *node >= 0) pages[static_cast<int>(*node)] += static_cast<double>(*value);
  }
  for (auto& [node, count] : pages) count *= page_bytes;
  return pages;
}

void NodeMemory::look(int pid) {
  if (!begun_) {
    nodes_ = read_memory_nodes(root_);
    // Nodes of CPUs alone, or of devices, hold no pages.
    std::erase_if(nodes_, [](const MemoryNode& node) { return node.total_bytes == 0; });
  }
  begun_ = true;
  if (nodes_.size() < 2 || pid <= 0) return;
  // The first process asked for stays: its reading takes several looks.
  if (pid_ == 0) {
    pid_ = pid;
    const std::string path = root_.path(fmt::format("/proc/{}/numa_maps", pid_));
    maps_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  read_some();
  count_threads();
}

void NodeMemory::read_some() {
  const double begin = thread_cpu_seconds();
  std::array<char, 4096> part{};
  // The kernel makes some lines at each read(), so the reading can stop anywhere.
  while (maps_.is_open() && thread_cpu_seconds() - begin < kStep) {
    const ssize_t got = ::read(maps_.number, part.data(), part.size());
    if (got <= 0) {
      maps_ = Descriptor();
      return;
    }
    rest_.append(part.data(), static_cast<std::size_t>(got));
    for (std::size_t end; (end = rest_.find('\n')) != std::string::npos; rest_.erase(0, end + 1)) {
      for (const auto& [node, bytes] : mapped_bytes(rest_.substr(0, end))) bytes_[node] += bytes;
    }
  }
}

void NodeMemory::count_threads() {
  const std::string folder = root_.path(fmt::format("/proc/{}/task", pid_));
  const auto threads = list_directory(folder);
  const std::size_t count = threads ? std::min(threads->size(), kMaxThreadsRead) : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string line = read_file(folder + "/" + (*threads)[i] + "/stat", 1024).value_or("");
    const std::size_t name_end = line.rfind(") ");
    if (name_end == std::string::npos) continue;
    const auto fields = words(line.substr(name_end + 2));
    // Only threads that run have a CPU now.
    if (fields.size() <= kCpu || fields[0] != "R") continue;
    const int cpu = std::atoi(fields[kCpu].c_str());  // NOLINT(cert-err34-c): the kernel's number
    for (const MemoryNode& node : nodes_) {
      if (node.cpus.contains(cpu)) ++threads_[node.node];
    }
  }
}

void NodeMemory::fill(StageUse& use) const {
  const double bytes = sum_of(bytes_), threads = sum_of(threads_);
  // Half of the mappings would be of some nodes alone.
  if (maps_.is_open() || bytes < kLeastBytes || threads < kLeastLooks) return;
  double together = 0;
  for (const auto& [node, looks] : threads_) {
    const auto held = bytes_.find(node);
    if (held != bytes_.end()) together += std::min(looks / threads, held->second / bytes);
  }
  use.remote_share = std::max(0.0, 1 - together);
  use.memory_nodes = nodes_above(bytes_, kMemoryOf);
  use.thread_nodes = nodes_above(threads_, kThreadsOf);
}

}  // namespace ocrtune
