// Ranks are known by their environment, which /proc/PID/environ shows as it was at exec. All
// threads of a process are bound one by one, because sched_setaffinity() binds a single thread.
// Nothing is undone: the processes end with the trial.
#include "trial/observe/rank_binding.h"

#include <cstdlib>

#include <fmt/format.h>

#include "base/files.h"
#include "base/raw_proc.h"
#include "base/text.h"

namespace ocrtune {
namespace {

std::optional<std::string> value_in(const std::string& environment, const std::string& name) {
  const std::string start = name + "=";
  for (std::size_t at = 0; at < environment.size();) {
    std::size_t end = environment.find('\0', at);
    if (end == std::string::npos) end = environment.size();
    if (environment.compare(at, start.size(), start) == 0) {
      return environment.substr(at + start.size(), end - at - start.size());
    }
    at = end + 1;
  }
  return std::nullopt;
}

std::string environment_of(const std::string& pid) {
  return read_file("/proc/" + pid + "/environ", 1 << 20).value_or("");
}

void bind_threads(int pid, const CpuSet& mask) {
  const auto threads = list_directory(fmt::format("/proc/{}/task", pid));
  if (!threads) return;
  for (const std::string& thread : *threads) {
    // A thread that has just ended is no loss.
    [[maybe_unused]] const Status bound = set_affinity(std::atoi(thread.c_str()), mask);  // NOLINT
  }
}

// Of a process's main thread, or of any thread by its "pid/task/tid".
std::string allowed_cpus(const std::string& thread) {
  const auto status = read_file("/proc/" + thread + "/status", 1 << 16);
  const auto list = status ? status_value(*status, "Cpus_allowed_list") : std::nullopt;
  return std::string(list.value_or(""));
}

}  // namespace

const std::vector<const char*>& local_rank_variables() {
  static const std::vector<const char*> kNames = {"PADDLE_LOCAL_RANK", "PADDLE_RANK_IN_NODE",
                                                  "LOCAL_RANK",        "OMPI_COMM_WORLD_LOCAL_RANK",
                                                  "MPI_LOCALRANKID",   "MV2_COMM_WORLD_LOCAL_RANK",
                                                  "SLURM_LOCALID"};
  return kNames;
}

std::optional<int> local_rank_of(const std::string& environment, const std::string& inherited) {
  for (const char* name : local_rank_variables()) {
    const auto value = value_in(environment, name);
    if (!value || value == value_in(inherited, name)) continue;
    const auto rank = parse_integer(*value);
    if (rank && *rank >= 0 && *rank < 100000) return static_cast<int>(*rank);
  }
  return std::nullopt;
}

std::string rank_cpus_text(const std::vector<CpuSet>& masks) {
  std::vector<std::string> texts;
  for (const CpuSet& mask : masks) texts.push_back(mask.text());
  return join(texts, ":");
}

Result<std::vector<CpuSet>> parse_rank_cpus(const std::string& text) {
  std::vector<CpuSet> masks;
  for (const std::string& one : split(text, text.find(';') == std::string::npos ? ':' : ';')) {
    auto mask = CpuSet::parse(one);
    if (!mask) {
      return Error{ErrorKind::usage, fmt::format("{}: '{}' is not a list of CPUs for each rank, "
                                                 "such as 0-3:4-7",
                                                 kRankCpusVariable, text)};
    }
    masks.push_back(*std::move(mask));
  }
  return masks;
}

RankBinder::RankBinder(std::vector<CpuSet> masks)
    : masks_(std::move(masks)), inherited_(environment_of("self")) {}

void RankBinder::look(const std::vector<ProcessFacts>& members) {
  for (const ProcessFacts& process : members) {
    // A pid alone may be another process's by the next look.
    const std::pair<int, std::uint64_t> identity{process.pid, process.start_ticks};
    if (ranks_.count(identity) != 0) continue;
    // Between fork and exec a rank still shows its launcher's environment: asked again next time.
    const auto rank = local_rank_of(environment_of(fmt::format("{}", process.pid)), inherited_);
    if (!rank) continue;
    ranks_[identity] = *rank;
    // The first process of a rank is the rank; loader workers inherit its variables.
    first_pids_.emplace(*rank, process.pid);
    const auto index = static_cast<std::size_t>(*rank);
    if (index < masks_.size() && !masks_[index].empty()) bind_threads(process.pid, masks_[index]);
  }
}

std::optional<int> RankBinder::rank_of(const ProcessFacts& process) const {
  const auto found = ranks_.find({process.pid, process.start_ticks});
  return found == ranks_.end() ? std::nullopt : std::optional<int>(found->second);
}

std::map<int, std::string> RankBinder::places(const std::vector<ProcessFacts>& members) const {
  std::map<int, std::string> places;
  for (const ProcessFacts& process : members) {
    const auto found = ranks_.find({process.pid, process.start_ticks});
    if (found == ranks_.end() || first_pids_.at(found->second) != process.pid) continue;
    places[found->second] = allowed_cpus(fmt::format("{}", process.pid));
  }
  return places;
}

void RankBinder::bind_again(const std::vector<ProcessFacts>& members) const {
  for (const ProcessFacts& process : members) {
    const CpuSet* mask = mask_of(process);
    if (mask != nullptr) bind_threads(process.pid, *mask);
  }
}

void RankBinder::take_as_rank(const ProcessFacts& process) {
  ranks_[{process.pid, process.start_ticks}] = 0;
  first_pids_.emplace(0, process.pid);
}

const CpuSet* RankBinder::mask_of(const ProcessFacts& process) const {
  const auto found = ranks_.find({process.pid, process.start_ticks});
  if (found == ranks_.end()) return nullptr;
  const auto index = static_cast<std::size_t>(found->second);
  return index < masks_.size() && !masks_[index].empty() ? &masks_[index] : nullptr;
}

std::vector<std::string> RankBinder::misplaced(const std::vector<ProcessFacts>& members) const {
  std::map<int, std::string> lines;
  for (const ProcessFacts& process : members) {
    const CpuSet* mask = mask_of(process);
    if (mask == nullptr) continue;
    const auto threads = list_directory(fmt::format("/proc/{}/task", process.pid));
    if (!threads) continue;  // it has just ended
    for (const std::string& thread : *threads) {
      const std::string cpus = allowed_cpus(fmt::format("{}/task/{}", process.pid, thread));
      const auto set = CpuSet::parse(cpus);
      // A mask within the one that was meant is the program's own pinning.
      if (cpus.empty() || !set || set->minus(*mask).empty()) continue;
      const int rank = ranks_.at({process.pid, process.start_ticks});
      lines[rank] = fmt::format("rank {} runs on CPUs {} instead of {}", rank, cpus, mask->text());
      // One line for each rank is enough.
      break;
    }
  }
  std::vector<std::string> all;
  for (const auto& [rank, line] : lines) all.push_back(line);
  return all;
}

}  // namespace ocrtune
