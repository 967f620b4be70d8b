// How much memory a trial takes, of the machine and of its GPUs, and when that is too much.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "trial/ipc/events.h"
#include "trial/observe/gpu_names.h"
#include "trial/observe/memory_sampler.h"
#include "trial/trial.h"
#include "trial/watch/trial_verdict.h"

namespace ocrtune {

class MemoryWatch {
  static constexpr double kHostReserve = 0.01;  // of MemAvailable at the start; guess

 public:
  // `gpus`: UUIDs that the ranks compute on; empty: the machine's memory counts.
  MemoryWatch(ProcessTree& tree, double cpus, std::uint64_t limit_bytes,
              const std::vector<std::string>& gpus)
      : tree_(tree), limit_bytes_(limit_bytes), gpus_(gpus), sampler_(cpus) {}

  double next_seconds() const { return sampler_.next_seconds(limit_bytes_); }

  // The measuring begins: a trace is kept from now on.
  void begin(double now) {
    begun_ = now;
    sampler_.update(tree_, now, limit_bytes_, true);
  }

  // Reads what is due, or everything where `force` says so.
  std::optional<TrialStop> look(double now, bool force = false) {
    if (!force && now < next_seconds()) return std::nullopt;
    sampler_.update(tree_, now, limit_bytes_, force);
    if (begun_ && gpus_.empty()) trace_.push_back({now - *begun_, sampler_.bytes()});
    if (sampler_.reached(limit_bytes_)) {
      return TrialStop{StopCause::memory_limit,
                       fmt::format("stopped at {} of a limit of {}", format_bytes(sampler_.bytes()),
                                   format_bytes(limit_bytes_))};
    }
    if (host_available_bytes() < host_reserve_) {
      return TrialStop{
          StopCause::host_memory,
          fmt::format("stopped: the machine had {} of memory left, {} of it used by the trial",
                      format_bytes(host_available_bytes()), format_bytes(sampler_.bytes()))};
    }
    return std::nullopt;
  }

  void note_exit(const ProcessExit& exit, double now) { sampler_.note_exit(tree_, exit, now); }

  void add(const MemoryEvent& gpu, double now) {
    gpu_bytes_[gpu.rank] = gpu.bytes;
    gpu_size_ = std::max(gpu_size_, gpu.total_bytes);
    gpu_source_ = gpu.source;
    const std::uint64_t fullest = fullest_gpu_bytes(gpus_, gpu_bytes_, gpu.source);
    gpu_peak_ = std::max(gpu_peak_, fullest);
    if (begun_) trace_.push_back({now - *begun_, fullest});
  }

  const std::set<std::string>& shm_names() const { return sampler_.shm_names(); }

  void report(Trial& trial) const {
    trial.memory_trace = trace_;
    trial.peak_bytes = trial.host_peak_bytes = sampler_.peak_bytes();
    const std::uint64_t possible = sampler_.possible_peak_bytes();
    if (is_unsure_peak(trial.host_peak_bytes, possible)) trial.possible_peak_bytes = possible;
    const std::string unsure = unsure_peak_words(trial.host_peak_bytes, possible);
    if (!unsure.empty()) trial.evidence.push_back(unsure);
    if (gpus_.empty()) return;
    trial.peak_bytes = gpu_peak_;
    if (gpu_peak_ > 0) trial.gpus = {{-1, 0, true, gpu_peak_, gpu_size_}};
    trial.evidence.push_back(fmt::format(
        "memory: {} on the fullest GPU ({}), {} of the machine's", format_bytes(gpu_peak_),
        gpu_source_.empty() ? "not reported" : gpu_source_, format_bytes(trial.host_peak_bytes)));
  }

 private:
  ProcessTree& tree_;
  std::uint64_t limit_bytes_;
  const std::vector<std::string>& gpus_;
  std::uint64_t host_reserve_ =
      static_cast<std::uint64_t>(kHostReserve * static_cast<double>(host_available_bytes()));
  MemorySampler sampler_;
  std::optional<double> begun_;
  std::vector<MemoryPoint> trace_;
  std::map<int, std::uint64_t> gpu_bytes_;     // of each rank, at the latest
  std::uint64_t gpu_peak_ = 0, gpu_size_ = 0;  // of the fullest GPU
  std::string gpu_source_;
};

}  // namespace ocrtune
