// Rounds over all settings come first, then rounds of the best and the base alone. The best of many
// is partly lucky, so its gain is claimed from rounds that did not choose it. The work of a step is
// found by the first run, and all others do the same.
#include "probes/p2p/nccl_sweep.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/stats.h"
#include "base/text.h"

namespace ocrtune {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

// One percent; a guess of what is worth a debugging variable.
constexpr double kWorthIt = 1.01;  // the low end of the interval must be at least so much

Settings with(Settings base, const Settings& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

bool names(const Settings& settings, const std::string& name) {
  return std::any_of(settings.begin(), settings.end(),
                     [&](const auto& setting) { return setting.first == name; });
}

// Largest distance among all pairs, for NCCL_P2P_LEVEL. Asked only where P2P works.
std::string farthest_level(const P2pFacts& facts) {
  std::string farthest;
  for (const char* level : {"NVL", "PIX", "PXB", "PHB", "SYS"}) {
    for (const P2pPairFacts& pair : facts.pairs) {
      if ((pair.nvlink ? "NVL" : pair.level) == level) farthest = level;
    }
  }
  return farthest;
}

bool nvswitch(const P2pFacts& facts) {
  return facts.gpus > 2 && std::all_of(facts.pairs.begin(), facts.pairs.end(),
                                       [](const P2pPairFacts& pair) { return pair.nvlink; });
}

class Sweep {
 public:
  Sweep(const std::vector<LadderGpu>& gpus, const SweepOptions& options, const LadderWorld& world)
      : gpus_(gpus), options_(options), world_(world) {}

  SweepAnswer run(const std::vector<SweepSetting>& settings) {
    for (const SweepSetting& setting : settings) {
      SweepRow row;
      row.setting = setting;
      answer_.rows.push_back(std::move(row));
    }
    for (int round = 0; round < options_.rounds && !answer_.interrupted; ++round) {
      for (SweepRow& row : answer_.rows) {
        // A setting that failed once is out; without a base only workarounds have a point.
        if (answer_.interrupted || failed(row)) continue;
        if (failed(answer_.rows[0]) == row.setting.workaround) run_once(row);
      }
    }
    judge();
    return std::move(answer_);
  }

 private:
  static bool failed(const SweepRow& row) {
    return row.result != StepResult::not_run && row.result != StepResult::passed;
  }

  void run_once(SweepRow& row) {
    GpuStep step;
    step.kind = "sweep";
    step.ranks = static_cast<int>(gpus_.size());
    for (const LadderGpu& gpu : gpus_) step.devices.push_back(gpu.uuid);
    step.environment = row.setting.env;
    step.deadline_seconds = options_.deadline_seconds;
    std::vector<std::string> buckets;
    for (const std::uint64_t bytes : options_.bucket_bytes)
      buckets.push_back(std::to_string(bytes));
    step.options = {"--buckets=" + join(buckets, ","),
                    fmt::format("--compute_seconds={}", options_.compute_seconds)};
    if (work_ > 0) step.options.push_back(fmt::format("--work={}", work_));
    if (world_.announce) world_.announce("sweep: " + row.setting.name);
    note(world_.run(step), row);
  }

  void note(const GpuStepResult& result, SweepRow& row) {
    answer_.interrupted = answer_.interrupted || result.interrupted;
    if (result.interrupted) return;
    row.result = result.result;
    row.detail = result.detail;
    if (row.result != StepResult::passed) return;
    double slowest = 0;
    for (const GpuFinding& finding : result.findings) {
      if (finding.what != "sweep") continue;
      if (finding.rank == 0 && work_ == 0) work_ = static_cast<int>(finding.figure("work"));
      slowest = std::max(slowest, finding.figure("step_seconds"));
      row.all_reduce_seconds =
          std::max(row.all_reduce_seconds, finding.figure("all_reduce_seconds"));
      row.bytes_per_second = finding.figure("bytes_per_second");
      answer_.compute_seconds = finding.figure("compute_seconds");
    }
    if (slowest <= 0) {
      row.result = StepResult::crashed;
      row.detail = "no step time was given";
      return;
    }
    // The slowest rank's step counts, for the others wait for it.
    row.step_seconds.push_back(slowest);
    row.transports = result.log.transports_text();
    row.env_proved = row.env_proved &&
                     (row.setting.env.empty() || proves_environment(row.setting.env, result.log));
  }

  void judge() {
    if (answer_.rows.front().step_seconds.empty()) return tell_failure();
    double best_low = kWorthIt;
    for (std::size_t i = 0; i < answer_.rows.size(); ++i) {
      SweepRow& row = answer_.rows[i];
      if (row.step_seconds.empty() || failed(row)) continue;
      row.speedup = i == 0 ? Interval{1, 1, 1}
                           : bootstrap_ratio(answer_.rows[0].step_seconds, row.step_seconds);
      // Three rounds: fewer give no interval to speak of.
      if (i > 0 && row.env_proved && row.step_seconds.size() >= 3 && row.speedup.low > best_low) {
        best_low = row.speedup.low;
        answer_.best = static_cast<int>(i);
      }
    }
    if (answer_.best != 0) confirm();
    tell();
  }

  // The best of many looks better than it is: what is claimed comes from new rounds of it and the
  // base alone.
  void confirm() {
    SweepRow base = answer_.rows.front();
    SweepRow best = answer_.rows[static_cast<std::size_t>(answer_.best)];
    base.step_seconds.clear();
    best.step_seconds.clear();
    for (int round = 0; round < options_.rounds && !answer_.interrupted; ++round) {
      run_once(base);
      if (!answer_.interrupted) run_once(best);
    }
    const bool held = base.result == StepResult::passed && best.result == StepResult::passed &&
                      best.env_proved && !best.step_seconds.empty() && !answer_.interrupted;
    if (held) answer_.gain = bootstrap_ratio(base.step_seconds, best.step_seconds);
    if (!held || answer_.gain.low <= 1) {
      answer_.best = 0;
      answer_.gain = Interval{1, 1, 1};
    }
  }

  void tell_failure() {
    answer_.sentence = answer_.interrupted
                           ? "the sweep was interrupted before it knew anything"
                           : "the sweep did not run: " + answer_.rows.front().detail;
    for (const SweepRow& row : answer_.rows) {
      if (!row.setting.workaround || row.result != StepResult::passed) continue;
      answer_.sentence += "; it runs " + row.setting.name;
    }
  }

  void tell() {
    const SweepRow& base = answer_.rows.front();
    const SweepRow& best = answer_.rows[static_cast<std::size_t>(answer_.best)];
    if (answer_.best == 0) {
      answer_.sentence =
          fmt::format("no NCCL setting makes the step of {} shorter: leave them alone",
                      format_duration(median(base.step_seconds)));
      return;
    }
    answer_.sentence = fmt::format("{}: a step takes {} instead of {} (x{:.3f}, {:.3f} to {:.3f})",
                                   best.setting.name, format_duration(median(best.step_seconds)),
                                   format_duration(median(base.step_seconds)), answer_.gain.median,
                                   answer_.gain.low, answer_.gain.high);
    answer_.warnings.emplace_back(
        "NVIDIA lists these among NCCL's debugging variables, not for production: keep them only "
        "for this machine and NCCL version, and measure again after an update");
  }

  const std::vector<LadderGpu>& gpus_;
  const SweepOptions& options_;
  const LadderWorld& world_;
  SweepAnswer answer_;
  int work_ = 0;  // found by the first run, the same for all others
};

}  // namespace

std::vector<SweepSetting> sweep_settings(const P2pFacts& facts, const P2pVerdict& verdict) {
  const Settings& base = verdict.env;
  std::vector<SweepSetting> all = {{base.empty() ? "as it is" : "as recommended", base}};
  const bool p2p_free = !names(base, "NCCL_P2P_DISABLE") && !names(base, "NCCL_P2P_LEVEL");
  const bool p2p_works = verdict.verdict == P2pClass::ok || verdict.verdict == P2pClass::slow;
  // The verdict's change is itself swept here, so the base is the plain state.
  if (verdict.verdict == P2pClass::slow) all[0] = {"as it is", {}};
  if (p2p_works) {
    all.push_back({"P2P off", {{"NCCL_P2P_DISABLE", "1"}}});
    const std::string level = farthest_level(facts);
    if (p2p_free && !level.empty() && level != "NVL") {
      all.push_back({"P2P up to " + level, {{"NCCL_P2P_LEVEL", level}}});
    }
  }
  const Settings under = all[0].env;
  for (const char* ctas : {"1", "2", "4", "8", "16"}) {
    all.push_back({std::string(ctas) + (std::string(ctas) == "1" ? " CTA" : " CTAs"),
                   with(under, {{"NCCL_MIN_CTAS", ctas}, {"NCCL_MAX_CTAS", ctas}})});
  }
  for (const char* algorithm : {"Ring", "Tree"}) {
    // With two GPUs a tree has no other path than a ring.
    if (facts.gpus < 3 && std::string(algorithm) == "Tree") continue;
    all.push_back({algorithm, with(under, {{"NCCL_ALGO", algorithm}})});
  }
  all.push_back({"buffers of 8 MiB", with(under, {{"NCCL_BUFFSIZE", "8388608"}})});
  if (nvswitch(facts)) {
    all.push_back({"without NVLS", with(under, {{"NCCL_NVLS_ENABLE", "0"}}), true});
  }
  return all;
}

std::vector<std::uint64_t> gradient_buckets(std::uint64_t gradient_bytes, std::uint64_t max_bytes) {
  std::vector<std::uint64_t> buckets;
  for (; gradient_bytes > max_bytes; gradient_bytes -= max_bytes) buckets.push_back(max_bytes);
  if (gradient_bytes > 0) buckets.push_back(gradient_bytes);
  return buckets;
}

SweepAnswer run_nccl_sweep(const std::vector<LadderGpu>& gpus,
                           const std::vector<SweepSetting>& settings, const SweepOptions& options,
                           const LadderWorld& world) {
  return Sweep(gpus, options, world).run(settings);
}

}  // namespace ocrtune
