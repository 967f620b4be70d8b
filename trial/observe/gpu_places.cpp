// The GPU worker is asked from a thread of its own, because a sick driver may hang for ever. Its
// first answer, from before the command computes, is what all later ones are compared with.
// Readings before the measuring are left out, since nothing works on the GPUs yet.
#include "trial/observe/gpu_places.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/text.h"
#include "probes/gpu/gpu.h"
#include "probes/gpu/gpu_ids.h"
#include "probes/machine_gpus.h"

namespace ocrtune {
namespace {

constexpr double kAskSeconds = 5;
constexpr double kWaitSeconds = 5;  // for the last answer, which takes seconds on busy CPUs
constexpr int kReadings = 3;
// A CUDA context alone takes more than this, what a display does in a trial less.
constexpr std::uint64_t kMinGainBytes = 100ULL << 20;

const GpuFacts* find_gpu(const GpuReport& report, int index) {
  for (const GpuFacts& gpu : report.gpus) {
    if (gpu.index == index) return &gpu;
  }
  return nullptr;
}

bool worked(const GpuUse& use, bool pids_are_known) {
  return pids_are_known ? use.processes > 0 : use.gained_bytes >= kMinGainBytes;
}

// "2 processes (1.0 GiB and 1.2 GiB), ": with the memory of each, where several share a GPU and the
// driver tells.
std::string sharers_words(const GpuUse& use) {
  std::vector<std::string> each;
  for (const auto& [pid, bytes] : use.process_bytes) each.push_back(format_bytes(bytes));
  const bool told = use.processes > 1 && static_cast<int>(each.size()) == use.processes;
  return how_many(use.processes, "process") + (told ? " (" + join(each, ", ") + ")" : "") + ", ";
}

}  // namespace

void note_gpu_use(const GpuReport& before, const GpuReport& now, const std::set<int>& pids,
                  std::map<int, GpuUse>& use) {
  for (const GpuFacts& gpu : now.gpus) {
    GpuUse& one = use[gpu.index];
    one.size_bytes = gpu.memory_bytes;
    one.used_bytes = std::max(one.used_bytes, gpu.memory_used_bytes);
    const GpuFacts* then = find_gpu(before, gpu.index);
    // A GPU that the first report lacks counts as having gained nothing.
    const std::uint64_t had = then == nullptr ? gpu.memory_used_bytes : then->memory_used_bytes;
    if (gpu.memory_used_bytes > had) {
      one.gained_bytes = std::max(one.gained_bytes, gpu.memory_used_bytes - had);
    }
    const auto ours = std::count_if(gpu.pids.begin(), gpu.pids.end(),
                                    [&](int pid) { return pids.count(pid) > 0; });
    one.processes = std::max(one.processes, static_cast<int>(ours));
    if (gpu.busy_percent < 0) continue;
    one.busy_percents += gpu.busy_percent;
    ++one.busy_readings;
  }
  for (const GpuProcess& process : now.processes) {
    if (process.bytes == 0 || pids.count(process.pid) == 0) continue;
    // The pid is in the driver's list, which holds other programs' processes too.
    std::uint64_t& most = use[process.gpu].process_bytes[process.pid];
    most = std::max(most, process.bytes);
  }
}

std::vector<GpuShare> gpu_shares(const std::map<int, GpuUse>& use) {
  // One GPU with a process of ours shows that the driver's pids are ours. Then a gain elsewhere is
  // another program's.
  const bool known =
      std::any_of(use.begin(), use.end(), [](const auto& one) { return one.second.processes > 0; });
  std::vector<GpuShare> shares;
  for (const auto& [index, one] : use) {
    shares.push_back({index, one.processes, worked(one, known), one.used_bytes, one.size_bytes});
    // A reading is of the driver's last second at most.
    if (one.busy_readings >= kReadings) {
      shares.back().busy_share = one.busy_percents / 100 / one.busy_readings;
    }
  }
  return shares;
}

std::string gpu_use_words(const std::map<int, GpuUse>& use) {
  std::vector<std::string> busy;
  for (const GpuShare& share : gpu_shares(use)) {
    if (!share.worked) continue;
    busy.push_back(fmt::format("GPU {}: {}{} of {} in use", share.index,
                               share.processes > 0 ? sharers_words(use.at(share.index)) : "",
                               format_bytes(share.peak_bytes), format_bytes(share.size_bytes)));
  }
  return busy.empty() ? "" : "where it computed: " + join(busy, "; ");
}

std::string idle_gpus_words(const std::vector<GpuShare>& shares) {
  std::vector<std::string> idle;
  int processes = 0;
  for (const GpuShare& share : shares) {
    if (!share.worked) idle.push_back(fmt::format("{}", share.index));
    processes += share.processes;
  }
  if (idle.empty()) return "";
  if (idle.size() == shares.size()) {
    return fmt::format("GPUs without work: {}; the command used none of them", join(idle, ", "));
  }
  return fmt::format(
      "GPUs without work: {}{}; start each process through 'ocrtune rank-exec --gpu auto --', or "
      "name the GPUs in the command",
      join(idle, ", "),
      processes > 1 ? fmt::format(" while {} shared the rest", how_many(processes, "process"))
                    : "");
}

GpuUseNotes::GpuUseNotes(const ProcessOptions& command) : environment_(process_environment()) {
  // As the child will have it: CUDA_VISIBLE_DEVICES may be set for the command alone.
  for (const auto& [name, value] : command.environment) {
    environment_.erase(name);
    if (value) environment_[name] = *value;
  }
}

void GpuUseNotes::take(GpuReport report, const std::set<int>& pids, bool working) {
  if (!began_) {
    const GpuView view = visible_gpus(physical_gpus(report.gpus), environment_, GpuVendor::nvidia);
    for (const VisibleGpu& gpu : view.gpus) allowed_.insert(gpu.physical);
  }
  // A hidden GPU cannot be used, so it is not idle through a mistake.
  std::erase_if(report.gpus, [&](const GpuFacts& gpu) { return allowed_.count(gpu.index) == 0; });
  std::erase_if(report.processes,
                [&](const GpuProcess& process) { return allowed_.count(process.gpu) == 0; });
  if (!began_) {
    before_ = std::move(report);
    began_ = true;
  } else if (working) {
    note_gpu_use(before_, report, pids, use_);
    last_ = std::move(report);
  }
}

void GpuUseNotes::know(const std::set<int>& pids) {
  if (any()) note_gpu_use(before_, last_, pids, use_);
}

void GpuPlaces::take(const std::set<int>& pids) {
  GpuReport report = asked_.get();
  // A worker that did not answer is not asked again in this trial.
  hung_ = !report.answered;
  if (!hung_) notes_.take(std::move(report), pids, asked_while_measuring_);
}

void GpuPlaces::look(double now_seconds, bool measuring, const std::set<int>& pids) {
  if (hung_) return;
  if (asked_.valid()) {
    if (asked_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
    take(pids);
  }
  const bool first = asked_at_ < 0;
  // The first answer of the work itself is wanted at once.
  const bool turned = measuring && !asked_while_measuring_;
  const bool again = measuring && now_seconds - asked_at_ >= kAskSeconds;
  if (!first && !turned && !again) return;
  asked_at_ = now_seconds;
  ask(measuring);
}

void GpuPlaces::ask(bool measuring) {
  asked_while_measuring_ = measuring;
  // Deferred where the system has no thread to spare: then it is never ready and nobody waits.
  asked_ = std::async(std::launch::async | std::launch::deferred,
                      [] { return probe_gpus(GpuProbeOptions{}, process_environment()); });
}

void GpuPlaces::finish(const std::set<int>& pids) {
  const auto most = std::chrono::duration<double>(kWaitSeconds);
  const auto answered = [&] {
    return asked_.valid() && asked_.wait_for(most) == std::future_status::ready;
  };
  if (answered()) take(pids);
  // None of the answers was of its work: the trial was shorter than the driver takes.
  if (asked_at_ >= 0 && !asked_.valid() && !hung_ && !notes_.any()) {
    ask(true);
    if (answered()) take(pids);
  }
  notes_.know(pids);
}

}  // namespace ocrtune
