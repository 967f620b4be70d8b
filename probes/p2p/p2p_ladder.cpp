// The facts collect what each rung says. No rung decides by itself what it means: judge_p2p() does,
// before the soak and at the end. Every step is run by `world`, so tests script it.
#include "probes/p2p/p2p_ladder.h"

#include <algorithm>
#include <cstdint>
#include <future>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "probes/p2p/ladder_rungs.h"

namespace ocrtune {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

// A guess: room for CUDA contexts, NCCL's buffers and the patterns that are copied.
constexpr double kMinFreeBytes = 1.5 * (1ULL << 30);
// A little more than the second over which the driver takes its mean.
constexpr double kRestSeconds = 1.2;

// A busy GPU before anything of ours has run on it belongs to somebody.
std::optional<Error> in_use(const LadderGpu& gpu, const std::vector<GpuFacts>& seen) {
  for (const GpuFacts& facts : seen) {
    if (facts.index != gpu.index) continue;
    if (facts.compute_mode == "prohibited") {
      return Error{ErrorKind::unsupported,
                   fmt::format("GPU {} is in prohibited mode: nothing may compute on it; "
                               "nvidia-smi -c DEFAULT allows it",
                               gpu.index)};
    }
    if (facts.compute_mode == "exclusive") {  // a rung needs two processes on one GPU at times
      return Error{ErrorKind::unsupported,
                   fmt::format("GPU {} is in exclusive mode: one process at a time may use it; "
                               "nvidia-smi -c DEFAULT allows the checks",
                               gpu.index)};
    }
    if (!facts.pids.empty()) {
      return Error{
          ErrorKind::failed,
          fmt::format("GPU {} is in use by process {}: wait until it is free, choose other "
                      "GPUs by --gpus, or run beside it with --force",
                      gpu.index, facts.pids.front())};
    }
    if (busy_for_nobody(facts)) {
      return Error{ErrorKind::failed,
                   fmt::format("GPU {} is {} % busy with no process in sight: another container "
                               "uses it, or it is wedged and needs a reset; choose other GPUs by "
                               "--gpus, or run beside it with --force",
                               gpu.index, facts.busy_percent)};
    }
  }
  return std::nullopt;
}

class Ladder {
 public:
  Ladder(const P2pFacts& facts, const std::vector<LadderGpu>& gpus,
         const std::vector<GpuFacts>& seen, const LadderOptions& options, const LadderWorld& world)
      : gpus_(gpus), seen_(seen), options_(options), world_(world) {
    answer_.facts = facts;
  }

  Result<LadderAnswer> climb() {
    OCRTUNE_TRY(ask_devices());
    if (answer_.facts.not_run_because.empty() && !stopped()) {
      run_control();
      const bool works = !step_failed(answer_.facts.control) || !base_.empty();
      if (!stopped() && works) climb_pairs();
      if (!stopped() && options_.soak_seconds > 0) run_soak();
    }
    answer_.verdict = judge_p2p(answer_.facts);
    if (!answer_.verdict.env.empty() && !stopped()) prove();
    return std::move(answer_);
  }

 private:
  bool stopped() const { return answer_.facts.wedged || answer_.interrupted; }

  std::vector<std::string> all_devices() const {
    std::vector<std::string> uuids;
    for (const LadderGpu& gpu : gpus_) uuids.push_back(gpu.uuid);
    return uuids;
  }

  GpuStepResult run(const GpuStep& step, const std::string& words) {
    return std::move(run_at_once({step}, words).front());
  }

  // Steps that share no GPU.
  std::vector<GpuStepResult> run_at_once(std::vector<GpuStep> steps, const std::string& words) {
    double planned = 0;
    for (GpuStep& step : steps) {
      step.deadline_seconds = usual_deadline_seconds(step);
      if (options_.deadline_seconds > 0) step.deadline_seconds = options_.deadline_seconds;
      if (step.kind == "soak") step.deadline_seconds += options_.soak_seconds;
      planned = std::max(planned, planned_seconds(step));
    }
    answer_.planned_seconds += planned;
    if (world_.announce) world_.announce(words);
    std::vector<std::future<GpuStepResult>> running;
    for (std::size_t i = 1; i < steps.size(); ++i) {
      // Deferred where the system has no thread to spare: then one after the other.
      running.push_back(
          std::async(std::launch::async | std::launch::deferred,
                     [&world = world_, &step = steps[i]] { return world.run(step); }));
    }
    std::vector<GpuStepResult> results;
    results.push_back(world_.run(steps.front()));
    for (auto& one : running) results.push_back(one.get());
    note_ends(results, words);
    return results;
  }

  void note_ends(std::vector<GpuStepResult>& results, const std::string& words) {
    const std::string before = answer_.facts.wedged_detail;
    bool failure = false;
    for (GpuStepResult& result : results) {
      answer_.interrupted = answer_.interrupted || result.interrupted;
      if (answer_.facts.nccl_version.empty()) answer_.facts.nccl_version = result.log.version;
      const bool failed =
          result.result != StepResult::passed && result.result != StepResult::not_run;
      if (failed && !result.log.warnings.empty()) {
        result.detail += "; NCCL says: " + result.log.warnings.front().substr(0, 200);
      }
      failure = failure || failed;
      if (!result.stuck) continue;
      answer_.facts.wedged = true;
      answer_.facts.wedged_detail = "the driver holds a process of ours that SIGKILL cannot end";
    }
    if (failure && !answer_.facts.wedged) answer_.facts.wedged = any_wedged();
    if (answer_.facts.wedged_detail != before) answer_.facts.wedged_detail += ", after: " + words;
  }

  // It was so before anything of ours ran: somebody's in another container, at whose side --force
  // lets us run.
  bool busy_from_the_start(int index) const {
    return std::any_of(seen_.begin(), seen_.end(), [&](const GpuFacts& gpu) {
      return gpu.index == index && busy_for_nobody(gpu);
    });
  }

  // Our processes are gone: a GPU that is still busy without any has been wedged by the step. The
  // driver's figure is a mean over up to a second, so a busy GPU is looked at again.
  bool any_wedged() {
    for (int look = 0; look < 3; ++look) {
      if (look > 0) world_.pause(kRestSeconds);
      const GpuReport report = world_.look();
      if (!report.answered) {  // it answered before the step
        answer_.facts.wedged_detail = "the driver no longer answers (" + report.state + ")";
        return true;
      }
      const auto busy =
          std::find_if(report.gpus.begin(), report.gpus.end(), [&](const GpuFacts& gpu) {
            const bool ours = std::any_of(gpus_.begin(), gpus_.end(), [&](const LadderGpu& mine) {
              return mine.index == gpu.index;
            });
            return ours && busy_for_nobody(gpu) && !busy_from_the_start(gpu.index);
          });
      if (busy == report.gpus.end()) return false;
      if (look == 2) {
        answer_.facts.wedged_detail = fmt::format("GPU {} stays {} % busy with no process on it",
                                                  busy->index, busy->busy_percent);
      }
    }
    return true;
  }

  P2pPairFacts* pair(int from, int to) {
    for (P2pPairFacts& pair : answer_.facts.pairs) {
      if (pair.from == from && pair.to == to) return &pair;
    }
    return nullptr;
  }

  // T0: what the CUDA runtime says.
  Status ask_devices() {
    GpuStep step;
    step.kind = "devices";
    step.devices = all_devices();
    const GpuStepResult result = run(step, "asking CUDA");
    if (result.result != StepResult::passed) {
      if (result.result == StepResult::crashed && !result.findings.empty() &&
          result.findings.front().word("kind") == "driver_too_old") {
        return Error{ErrorKind::unsupported, result.detail};
      }
      answer_.facts.not_run_because = result.detail.empty() ? "CUDA gave no answer" : result.detail;
      return Status();
    }
    std::size_t devices = 0;
    for (const GpuFinding& finding : result.findings) {
      if (finding.what == "versions") {
        answer_.facts.nccl_version = finding.word("nccl_version");
        if (answer_.facts.nccl_version.empty()) answer_.facts.nccl_missing = finding.detail;
      }
      if (finding.what == "peer") note_peer(finding);
      if (finding.what != "device") continue;
      ++devices;
      const double free = finding.figure("free_bytes");
      if (free < kMinFreeBytes) {
        return Error{ErrorKind::exhausted,
                     fmt::format("GPU {} has {} of memory free; the checks need {}",
                                 gpus_[at(finding.from)].index,
                                 format_bytes(static_cast<std::uint64_t>(free)),
                                 format_bytes(static_cast<std::uint64_t>(kMinFreeBytes)))};
      }
    }
    if (devices < gpus_.size()) {
      answer_.facts.not_run_because = fmt::format(
          "CUDA shows {} of these {} GPUs: a GPU divided by MIG hides the others, and "
          "a container may hold some back",
          devices, gpus_.size());
    }
    return Status();
  }

  std::size_t at(int position) const {
    return static_cast<std::size_t>(std::clamp(position, 0, static_cast<int>(gpus_.size()) - 1));
  }

  void note_peer(const GpuFinding& finding) {
    if (P2pPairFacts* facts = pair(gpus_[at(finding.from)].index, gpus_[at(finding.to)].index)) {
      facts->can_access_peer = finding.outcome == "passed" ? Tri::yes : Tri::no;
    }
  }

  GpuStep nccl_step(const Settings& environment) const {
    GpuStep step;
    step.kind = "nccl";
    step.devices = all_devices();
    step.ranks = static_cast<int>(gpus_.size());
    step.environment = environment;
    return step;
  }

  // T1: if this fails, P2P is not to blame.
  void run_control() {
    P2pFacts& facts = answer_.facts;
    facts.control = as_step(run(nccl_step({{"NCCL_P2P_DISABLE", "1"}}), "NCCL with P2P off"));
    if (!step_failed(facts.control) || stopped()) return;
    facts.control_without_cumem_host =
        as_step(run(nccl_step({{"NCCL_P2P_DISABLE", "1"}, {"NCCL_CUMEM_HOST_ENABLE", "0"}}),
                    "NCCL without cuMem host buffers"));
    if (step_passed(facts.control_without_cumem_host)) base_ = {{"NCCL_CUMEM_HOST_ENABLE", "0"}};
    if (stopped()) return;
    facts.control_without_shm =
        as_step(run(nccl_step({{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}}),
                    "NCCL without shared memory"));
    if (base_.empty() && step_passed(facts.control_without_shm))
      base_ = {{"NCCL_SHM_DISABLE", "1"}};
  }

  // What every NCCL run needs here, and more.
  Settings based(const Settings& more) const {
    Settings all = base_;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  static bool may_try(const P2pPairFacts& pair) {
    return pair.driver_read != Tri::no && pair.driver_write != Tri::no &&
           pair.can_access_peer == Tri::yes;
  }

  // Two GPUs that are checked together, and what is known of both directions.
  struct Pair {
    int a = 0, b = 0;  // the driver's numbers
    std::vector<std::string> devices;
    P2pPairFacts *there = nullptr, *back = nullptr;
    double crowded_bytes_per_second = 0;  // of a copy while other pairs copied, too

    bool held(P2pStep P2pPairFacts::*rung) const {
      return step_passed(there->*rung) && step_passed(back->*rung);
    }
    double seen_bytes_per_second() const {
      return crowded_bytes_per_second > 0
                 ? crowded_bytes_per_second
                 : std::min(there->copy_bytes_per_second, back->copy_bytes_per_second);
    }
  };

  void climb_pairs() {
    for (const auto& round : disjoint_rounds(static_cast<int>(gpus_.size()))) {
      std::vector<Pair> pairs;
      for (const auto& [first, second] : round) {
        const LadderGpu& a = gpus_[at(first)];
        const LadderGpu& b = gpus_[at(second)];
        P2pPairFacts* there = pair(a.index, b.index);
        P2pPairFacts* back = pair(b.index, a.index);
        if (there == nullptr || back == nullptr || !may_try(*there) || !may_try(*back)) continue;
        pairs.push_back({a.index, b.index, {a.uuid, b.uuid}, there, back});
      }
      if (!stopped()) climb_round(std::move(pairs));
    }
    if (!stopped() && base_.empty()) measure_rates();  // with a base there is nothing to compare
  }

  // Leaves those that may go on.
  void keep_those_that_held(std::vector<Pair>& pairs, P2pStep P2pPairFacts::*rung) const {
    std::erase_if(pairs, [&](const Pair& pair) { return stopped() || !pair.held(rung); });
  }

  void climb_round(std::vector<Pair> pairs) {
    GpuStep step;
    step.kind = "copy";
    try_rung(step, "copies", &P2pPairFacts::copy, pairs);
    keep_those_that_held(pairs, &P2pPairFacts::copy);
    step.kind = "handshake";
    try_rung(step, "handshake of kernels", &P2pPairFacts::handshake, pairs);
    keep_those_that_held(pairs, &P2pPairFacts::handshake);
    shake_in_two_processes(step, pairs);
    keep_those_that_held(pairs, &P2pPairFacts::handshake);
    run_nccl(pairs);
    for (const Pair& pair : pairs) {
      const bool sound =
          !step_failed(pair.there->diagnostics) && !step_failed(pair.back->diagnostics);
      if (sound && pair.held(&P2pPairFacts::nccl)) good_.push_back(pair);
    }
  }

  static std::string words_of(const std::vector<Pair>& pairs, const std::string& words) {
    std::string names;
    for (const Pair& pair : pairs) {
      names += fmt::format("{}{} and {}", names.empty() ? "GPUs " : ", ", pair.a, pair.b);
    }
    return names + ": " + words;
  }

  // Training shares memory between processes, which is mapped in another way. A failure here is no
  // contradiction of the pass in one process: it counts by itself.
  void shake_in_two_processes(GpuStep step, std::vector<Pair>& pairs) {
    std::vector<std::pair<P2pPairFacts*, P2pStep>> alone;
    for (const Pair& pair : pairs) {
      for (P2pPairFacts* facts : {pair.there, pair.back}) {
        alone.emplace_back(facts, std::exchange(facts->handshake, P2pStep{}));
      }
    }
    step.ranks = 2;
    try_rung(step, "handshake of processes", &P2pPairFacts::handshake, pairs);
    for (const auto& [facts, one] : alone) {
      P2pStep& both = facts->handshake;
      if (both.result == StepResult::not_run) {
        const std::string why = both.detail;
        both = one;
        both.detail = "in one process alone" + (why.empty() ? "" : "; in two: " + why);
      } else if (step_failed(both)) {
        both.detail = "in two processes: " + both.detail;
      }
    }
  }

  // Both directions at once. What fails is tried twice more: is it always so? A hang is not: every
  // one of them may cost the GPU.
  void try_rung(const GpuStep& step, const std::string& words, P2pStep P2pPairFacts::*rung,
                std::vector<Pair>& pairs) {
    std::vector<Pair*> open;
    for (Pair& pair : pairs) open.push_back(&pair);
    for (int attempt = 0; attempt < 3 && !stopped() && !open.empty(); ++attempt) {
      std::vector<GpuStep> steps;
      std::vector<Pair> named;
      for (const Pair* pair : open) {
        steps.push_back(step);
        steps.back().devices = pair->devices;
        named.push_back(*pair);
      }
      const auto results = run_at_once(std::move(steps), words_of(named, words));
      std::vector<Pair*> again;
      for (std::size_t i = 0; i < open.size(); ++i) {
        const GpuStepResult& result = results[i];
        add_try(open[i]->there->*rung, direction_step(result, 0, 1));
        add_try(open[i]->back->*rung, direction_step(result, 1, 0));
        note_rates(result, open.size() > 1, *open[i]);
        if (result.result == StepResult::wrong_data || result.result == StepResult::crashed) {
          again.push_back(open[i]);
        }
      }
      open = std::move(again);
    }
  }

  // A copy's rate among others tells only which pair is the slowest; a round trip moves next to
  // nothing and disturbs nobody.
  static void note_rates(const GpuStepResult& result, bool crowded, Pair& pair) {
    for (const GpuFinding& finding : result.findings) {
      if (finding.from < 0) continue;
      P2pPairFacts& facts = finding.from == 0 ? *pair.there : *pair.back;
      const double rate = finding.figure("bytes_per_second");
      if (finding.what == "copy" && crowded) {
        double& least = pair.crowded_bytes_per_second;
        least = least > 0 ? std::min(least, rate) : rate;
      } else if (finding.what == "copy") {
        facts.copy_bytes_per_second = std::max(facts.copy_bytes_per_second, rate);
      } else if (finding.figure("round_trip_seconds") > 0) {
        facts.round_trip_seconds = finding.figure("round_trip_seconds");
      }
    }
  }

  // T4. NCCL_P2P_DISABLE=0: an /etc/nccl.conf may switch P2P off, and the variable wins. NCCL's
  // channel buffers hold 4 MiB whatever the message: where others run beside, 16 MiB go through all
  // protocols, and all sizes where the rates are measured.
  GpuStep p2p_step(const Pair& pair) const {
    GpuStep step = nccl_step(based(
        {{"NCCL_P2P_LEVEL", "SYS"}, {"NCCL_P2P_DISABLE", "0"}, {"NCCL_RUN_DIAGNOSTICS", "1"}}));
    step.devices = pair.devices;
    step.ranks = 2;
    return step;
  }

  void run_nccl(const std::vector<Pair>& pairs) {
    if (pairs.empty()) return;
    std::vector<GpuStep> steps;
    for (const Pair& pair : pairs) {
      steps.push_back(p2p_step(pair));
      if (pairs.size() > 1) steps.back().options = {"--check_bytes=16777216"};
    }
    const auto results = run_at_once(std::move(steps), words_of(pairs, "NCCL with P2P on"));
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      note_nccl(results[i], pairs[i]);
      if (pairs.size() == 1) note_p2p_rate(results[i], pairs[i]);
    }
  }

  static void note_nccl(const GpuStepResult& result, const Pair& pair) {
    P2pStep rung = as_step(result);
    if (step_passed(rung) && !result.log.uses(NcclTransport::p2p)) {
      rung = P2pStep{};
      rung.detail = result.log.channels.empty()
                        ? "its log names no transport"
                        : "it would not use P2P: " + result.log.transports_text();
    }
    add_try(pair.there->nccl, rung);
    add_try(pair.back->nccl, rung);
    for (const int from : {0, 1}) {
      P2pPairFacts& facts = from == 0 ? *pair.there : *pair.back;
      add_try(facts.diagnostics, diagnosed_step(result.log.diagnostics, from));
    }
  }

  static void note_p2p_rate(const GpuStepResult& result, const Pair& pair) {
    pair.there->p2p_bytes_per_second = pair.back->p2p_bytes_per_second = nccl_rate(result);
  }

  // Pairs as far apart, over links of the same speed.
  static std::pair<std::string, std::int64_t> distance_of(const Pair& pair) {
    const P2pPairFacts& facts = *pair.there;
    return {facts.nvlink ? "NVL" : facts.level,
            static_cast<std::int64_t>(facts.expected_bytes_per_second)};
  }

  void measure_rates() {
    std::map<std::pair<std::string, std::int64_t>, Pair*> slowest;
    for (Pair& pair : good_) {
      Pair*& one = slowest[distance_of(pair)];
      if (one == nullptr || pair.seen_bytes_per_second() < one->seen_bytes_per_second()) {
        one = &pair;
      }
    }
    for (const auto& [distance, one] : slowest) {
      if (!stopped()) measure_pair(*one);
      for (Pair& pair : good_) {
        if (stopped() || &pair == one || distance_of(pair) != distance) continue;
        if (pair.there->p2p_bytes_per_second > 0) {  // it was alone in its round
          measure_pair(pair);
        } else {
          take_rates(*one->there, *pair.there);
          take_rates(*one->back, *pair.back);
        }
      }
    }
  }

  static void take_rates(const P2pPairFacts& from, P2pPairFacts& to) {
    to.copy_bytes_per_second = from.copy_bytes_per_second;
    to.p2p_bytes_per_second = from.p2p_bytes_per_second;
    to.shm_bytes_per_second = from.shm_bytes_per_second;
    to.rates_from = from.from;
    to.rates_to = from.to;
  }

  // What the pair's round did not give because others were beside it, and the same collective
  // through shared memory for comparison.
  void measure_pair(Pair& pair) {
    std::vector<Pair> one = {pair};
    GpuStep copy;
    copy.kind = "copy";
    if (pair.there->copy_bytes_per_second <= 0) {
      try_rung(copy, "copies alone", &P2pPairFacts::copy, one);
    }
    if (stopped() || !pair.held(&P2pPairFacts::copy)) return;
    if (pair.there->p2p_bytes_per_second <= 0) run_nccl(one);
    if (stopped() || !pair.held(&P2pPairFacts::nccl)) return;
    GpuStep step = p2p_step(pair);
    step.environment = {{"NCCL_P2P_DISABLE", "1"}};
    const GpuStepResult without = run(step, words_of(one, "NCCL through shared memory"));
    pair.there->shm_bytes_per_second = pair.back->shm_bytes_per_second = nccl_rate(without);
  }

  // T5: only where everything below held.
  void run_soak() {
    const P2pClass so_far = judge_p2p(answer_.facts).verdict;
    if (so_far != P2pClass::ok && so_far != P2pClass::slow) return;
    GpuStep step = nccl_step({{"NCCL_P2P_LEVEL", "SYS"}, {"NCCL_P2P_DISABLE", "0"}});
    step.kind = "soak";
    step.options = {fmt::format("--seconds={}", options_.soak_seconds)};
    answer_.facts.soak = as_step(run(step, "soak"));
  }

  void prove() {
    Settings environment = answer_.verdict.env;
    const GpuStepResult rerun = run(nccl_step(environment), "NCCL as recommended");
    std::vector<int> gpus;
    for (const LadderGpu& gpu : gpus_) gpus.push_back(gpu.index);
    settle_environment(as_step(rerun), rerun.log, gpus, answer_.verdict);
    if (answer_.facts.wedged) answer_.verdict = judge_p2p(answer_.facts);
  }

  const std::vector<LadderGpu>& gpus_;
  const std::vector<GpuFacts>& seen_;
  const LadderOptions& options_;
  const LadderWorld& world_;
  LadderAnswer answer_;
  Settings base_;           // without which NCCL fails here
  std::vector<Pair> good_;  // NCCL works over their links
};

}  // namespace

void keep_pairs_of(const std::vector<LadderGpu>& gpus, P2pFacts& facts) {
  const auto other = [&](int index) {
    return std::none_of(gpus.begin(), gpus.end(),
                        [&](const LadderGpu& gpu) { return gpu.index == index; });
  };
  std::erase_if(facts.pairs,
                [&](const P2pPairFacts& pair) { return other(pair.from) || other(pair.to); });
  facts.gpus = static_cast<int>(gpus.size());
}

Result<LadderAnswer> climb_p2p_ladder(const P2pFacts& facts, const std::vector<LadderGpu>& gpus,
                                      const std::vector<GpuFacts>& seen,
                                      const LadderOptions& options, const LadderWorld& world) {
  if (gpus.size() < 2) return LadderAnswer{facts, judge_p2p(facts)};
  for (const LadderGpu& gpu : gpus) {
    const auto error = in_use(gpu, seen);
    if (error && (error->kind != ErrorKind::failed || !options.force)) return *error;
  }
  return Ladder(facts, gpus, seen, options, world).climb();
}

}  // namespace ocrtune
