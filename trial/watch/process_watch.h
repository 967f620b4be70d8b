// The processes of a trial as the machine shows them: which there are, where they run, what they
// have loaded, how near they are to limits, and what else the machine did meanwhile.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/text.h"
#include "probes/gpu/gpu_ids.h"
#include "trial/ipc/events.h"
#include "trial/observe/count_limits.h"
#include "trial/observe/oom_watch.h"
#include "trial/observe/rank_binding.h"
#include "trial/watch/load_watch.h"
#include "trial/watch/preload_watch.h"
#include "trial/watch/trial_plan.h"
#include "trial/watch/trial_verdict.h"

namespace ocrtune {

class ProcessWatch {
  static constexpr double kScanSeconds = 1.0;       // between looks for new processes; guess
  static constexpr double kStartScanSeconds = 0.1;  // before the measuring, as they start; guess

 public:
  ProcessWatch(const TrialPlan& plan, ProcessTree& tree, Trial& trial)
      : plan_(plan),
        tree_(tree),
        trial_(trial),
        preload_(plan.preload),
        load_(tree, plan.demand, plan.server_port) {}

  OomWatch& oom() { return oom_; }
  LoadWatch& load() { return load_; }

  void scan(double now) {
    tree_.scan();
    last_scan_ = now;
  }

  // The measuring begins.
  void begin(double now) {
    measuring_ = true;
    scan(now);
    if (plan_.binder == nullptr) return;
    plan_.binder->look(tree_.members());
    plan_.binder->bind_again(tree_.members());
  }

  std::optional<TrialStop> look(double now) {
    load_.look(now);
    if (now - last_scan_ < (measuring_ ? kScanSeconds : kStartScanSeconds)) return std::nullopt;
    scan(now);
    oom_.look(tree_.members());
    if (plan_.binder != nullptr) plan_.binder->look(tree_.members());
    if (measuring_ && plan_.of_user()) load_.threads().look_at(tree_.members());
    if (plan_.of_user()) counts_.look(now, tree_.members(), trial_);
    return check_preload();
  }

  // Of all processes so far, read `anew` or as of the last scan.
  double cpu_seconds(bool anew) {
    double cpu = tree_.gone_cpu_seconds();
    for (const ProcessFacts& process : anew ? tree_.refresh() : tree_.members()) {
      cpu += process.cpu_seconds;
    }
    return cpu;
  }

  // What a rank reports of itself, against what was asked for.
  std::optional<TrialStop> check(const HelloEvent& hello) {
    places_[hello.rank] = hello.cpus + (hello.gpu.empty() ? "" : "@" + hello.gpu);
    const auto rank = static_cast<std::size_t>(std::max(0, hello.rank));
    if (rank < plan_.gpus.size() && !same_gpu_uuid(plan_.gpus[rank], hello.gpu)) {
      return refused(fmt::format("rank {} computes on {} instead of {}", hello.rank,
                                 hello.gpu.empty() ? "no GPU" : hello.gpu, plan_.gpus[rank]));
    }
    if (rank < plan_.masks.size() && !plan_.masks[rank].empty() &&
        plan_.masks[rank].text() != hello.cpus) {
      return refused(fmt::format("rank {} runs on CPUs {} instead of {}", hello.rank, hello.cpus,
                                 plan_.masks[rank].text()));
    }
    if (plan_.threads > 0 && hello.team_size > 0 && hello.team_size != plan_.threads) {
      return refused(fmt::format(
          "rank {} got {} OpenMP threads instead of {} (OMP_THREAD_LIMIT, OMP_DYNAMIC?)",
          hello.rank, hello.team_size, plan_.threads));
    }
    return std::nullopt;
  }

  // The ranks of a user command, against what was asked for, once it was measured.
  std::optional<TrialStop> check_ranks() {
    if (plan_.binder == nullptr && plan_.preload.empty()) return std::nullopt;
    const std::vector<ProcessFacts>& members = tree_.scan();
    auto found = check_preload();
    if (plan_.binder == nullptr) return found;
    plan_.binder->look(members);
    const int seen = plan_.binder->ranks_seen();
    for (const ProcessFacts& process : members) {
      if (seen == 0 && process.pid == tree_.roots()[0]->pid()) plan_.binder->take_as_rank(process);
    }
    if (!found && plan_.ranks > 0 && seen > 0 && seen != plan_.ranks) {
      found = refused(fmt::format("the command runs {}, not {}: does it use {{nproc}}?",
                                  how_many(seen, "rank"), plan_.ranks));
    }
    const auto misplaced = plan_.binder->misplaced(members);
    if (!found && !misplaced.empty()) found = refused(misplaced[0]);
    for (const auto& [rank, cpus] : plan_.binder->places(members)) places_[rank] = cpus;
    return found;
  }

  // The last look, before the processes are ended.
  void finish(double now) {
    scan(now);
    if (plan_.of_user()) {
      load_.threads().add_runtimes(tree_.members());
      RankBinder ranks({});
      ranks.look(tree_.members());
      trial_.launched_ranks = ranks.ranks_seen();
      counts_.finish(tree_.members(), trial_);
    }
    oom_.look(tree_.members());
  }

  // Once they are gone: whether the kernel killed one of `pids` for memory. `counters` gets what
  // the kernel counted.
  OomVerdict judge_kills(double begin, const std::set<int>& pids, FailureEvidence& counters) const {
    const OomCounts after = oom_.now();
    const KernelLog kernel_log = kernel_log_since(begin);
    note_oom_growth(oom_.before(), after, kernel_log, pids, counters);
    return judge_oom(oom_.before(), after, kernel_log, pids);
  }

  void report() {
    trial_.stages = load_.stages().use(trial_.samples);
    const int allowed = trial_.stages.allowed_cpus;
    const double cpus =
        allowed > 0 ? std::min<double>(allowed, plan_.demand.cpus) : plan_.demand.cpus;
    load_.threads().tell(trial_, plan_.of_user() ? cpus : 0);
    std::vector<std::string> places;
    for (const auto& [rank, at] : places_) places.push_back(fmt::format("{}:{}", rank, at));
    trial_.placement = join(places, " ");
  }

 private:
  const TrialPlan& plan_;
  ProcessTree& tree_;
  Trial& trial_;
  PreloadWatch preload_;
  OomWatch oom_;
  LoadWatch load_;
  CountWatch counts_;
  std::map<int, std::string> places_;  // of each rank: "0-3", "0-3@GPU-..."
  bool measuring_ = false;
  double last_scan_ = -1;

  static TrialStop refused(std::string reason) { return {StopCause::refused, std::move(reason)}; }

  std::optional<TrialStop> check_preload() {
    preload_.look(tree_.members());
    std::string missed = measuring_ ? preload_.missed() : "";
    if (missed.empty()) return std::nullopt;
    return TrialStop{StopCause::not_loaded, std::move(missed)};
  }
};

}  // namespace ocrtune
