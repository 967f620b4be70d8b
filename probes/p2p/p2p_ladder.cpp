#include "probes/p2p/p2p_ladder.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

constexpr double kMinFreeBytes = 1.5 * (1ULL << 30);
constexpr double kRestSeconds = 1.2;

struct StepLimit {
  const char* kind;
  double deadline_seconds;  // contexts take up to a minute without persistence mode
};
constexpr StepLimit kLimits[] = {
    {"devices", 60}, {"copy", 90}, {"handshake", 60}, {"nccl", 120}, {"soak", 240}};

P2pStep as_step(const GpuStepResult& result) {
  P2pStep step;
  step.result = result.result;
  step.detail = result.detail;
  step.tried = result.result == StepResult::not_run ? 0 : 1;
  step.passed = result.result == StepResult::passed ? 1 : 0;
  return step;
}

void add_try(P2pStep& into, const P2pStep& other) {
  into.tried += other.tried;
  into.passed += other.passed;
  if (static_cast<int>(other.result) > static_cast<int>(into.result) || into.detail.empty()) {
    if (static_cast<int>(other.result) < static_cast<int>(into.result)) return;
    into.result = other.result;
    into.detail = other.detail;
  }
}

bool step_passed(const P2pStep& step) { return step.result == StepResult::passed; }
bool step_failed(const P2pStep& step) {
  return step.result != StepResult::not_run && !step_passed(step);
}

StepResult result_of(const std::string& outcome) {
  if (outcome == "passed") return StepResult::passed;
  if (outcome == "wrong_data") return StepResult::wrong_data;
  if (outcome == "hung") return StepResult::hung;
  return outcome == "unsupported" ? StepResult::not_run : StepResult::crashed;
}

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

  GpuStepResult run(GpuStep step, const std::string& words) {
    for (const StepLimit& limit : kLimits) {
      if (step.kind == limit.kind) step.deadline_seconds = limit.deadline_seconds;
    }
    if (options_.deadline_seconds > 0) step.deadline_seconds = options_.deadline_seconds;
    if (step.kind == "soak") step.deadline_seconds += options_.soak_seconds;
    if (world_.announce) world_.announce(words);
    GpuStepResult result = world_.run(step);
    answer_.interrupted = answer_.interrupted || result.interrupted;
    if (answer_.facts.nccl_version.empty()) answer_.facts.nccl_version = result.log.version;
    const bool failure =
        result.result != StepResult::passed && result.result != StepResult::not_run;
    if (failure && !result.log.warnings.empty()) {
      result.detail += "; NCCL says: " + result.log.warnings.front().substr(0, 200);
    }
    const std::string before = answer_.facts.wedged_detail;
    if (result.stuck) {
      answer_.facts.wedged = true;
      answer_.facts.wedged_detail = "the driver holds a process of ours that SIGKILL cannot end";
    } else if (failure) {
      answer_.facts.wedged = any_wedged();
    }
    if (answer_.facts.wedged_detail != before) answer_.facts.wedged_detail += ", after: " + words;
    return result;
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

  void climb_pairs() {
    for (std::size_t a = 0; a < gpus_.size(); ++a) {
      for (std::size_t b = a + 1; b < gpus_.size() && !stopped(); ++b) {
        P2pPairFacts* there = pair(gpus_[a].index, gpus_[b].index);
        P2pPairFacts* back = pair(gpus_[b].index, gpus_[a].index);
        if (there == nullptr || back == nullptr || !may_try(*there) || !may_try(*back)) continue;
        climb_pair(gpus_[a], gpus_[b], *there, *back);
      }
    }
  }

  void climb_pair(const LadderGpu& a, const LadderGpu& b, P2pPairFacts& there, P2pPairFacts& back) {
    const std::string name = fmt::format("GPUs {} and {}: ", a.index, b.index);
    GpuStep copy;
    copy.kind = "copy";
    copy.devices = {a.uuid, b.uuid};
    try_rung(copy, name + "copies", &P2pPairFacts::copy, there, back);
    if (stopped() || !step_passed(there.copy) || !step_passed(back.copy)) return;
    GpuStep handshake = copy;
    handshake.kind = "handshake";
    try_rung(handshake, name + "handshake of kernels", &P2pPairFacts::handshake, there, back);
    if (stopped() || !step_passed(there.handshake) || !step_passed(back.handshake)) return;
    shake_in_two_processes(handshake, name, there, back);
    if (stopped() || !step_passed(there.handshake) || !step_passed(back.handshake)) return;
    run_nccl(copy.devices, name, there, back);
  }

  // Training shares memory between processes, which is mapped in another way. A failure here is no
  // contradiction of the pass in one process: it counts by itself.
  void shake_in_two_processes(GpuStep step, const std::string& name, P2pPairFacts& there,
                              P2pPairFacts& back) {
    const P2pStep alone[] = {there.handshake, back.handshake};
    there.handshake = back.handshake = P2pStep{};
    step.ranks = 2;
    try_rung(step, name + "handshake of processes", &P2pPairFacts::handshake, there, back);
    P2pPairFacts* const pairs[] = {&there, &back};
    for (std::size_t i = 0; i < 2; ++i) {
      P2pStep& both = pairs[i]->handshake;
      if (both.result == StepResult::not_run) {
        const std::string why = both.detail;
        both = alone[i];
        both.detail = "in one process alone" + (why.empty() ? "" : "; in two: " + why);
      } else if (step_failed(both)) {
        both.detail = "in two processes: " + both.detail;
      }
    }
  }

  // Both directions at once. What fails is tried twice more: is it always so? A hang is not: every
  // one of them may cost the GPU.
  void try_rung(const GpuStep& step, const std::string& words, P2pStep P2pPairFacts::*rung,
                P2pPairFacts& there, P2pPairFacts& back) {
    for (int attempt = 0; attempt < 3 && !stopped(); ++attempt) {
      const GpuStepResult result = run(step, words);
      add_try(there.*rung, direction(result, 0, 1));
      add_try(back.*rung, direction(result, 1, 0));
      note_rate(result, 0, 1, there);
      note_rate(result, 1, 0, back);
      if (result.result != StepResult::wrong_data && result.result != StepResult::crashed) return;
    }
  }

  // What the step says of one direction; the whole step's end where it says nothing.
  static P2pStep direction(const GpuStepResult& result, int from, int to) {
    P2pStep step;
    for (const GpuFinding& finding : result.findings) {
      if (finding.from != from || finding.to != to) continue;
      P2pStep one;
      one.result = result_of(finding.outcome);
      one.detail = finding.detail;
      one.tried = one.result == StepResult::not_run ? 0 : 1;
      one.passed = one.result == StepResult::passed ? 1 : 0;
      if (static_cast<int>(one.result) >= static_cast<int>(step.result)) step = one;
    }
    const bool silent = step.result == StepResult::not_run;
    const bool died = result.result == StepResult::hung || result.result == StepResult::crashed;
    return silent || (died && step.result == StepResult::passed) ? as_step(result) : step;
  }

  static void note_rate(const GpuStepResult& result, int from, int to, P2pPairFacts& pair) {
    for (const GpuFinding& finding : result.findings) {
      if (finding.from != from || finding.to != to) continue;
      if (finding.what == "copy") {
        pair.copy_bytes_per_second =
            std::max(pair.copy_bytes_per_second, finding.figure("bytes_per_second"));
      } else if (finding.figure("round_trip_seconds") > 0) {
        pair.round_trip_seconds = finding.figure("round_trip_seconds");
      }
    }
  }

  // T4, and the same collective through shared memory for comparison.
  void run_nccl(const std::vector<std::string>& devices, const std::string& name,
                P2pPairFacts& there, P2pPairFacts& back) {
    // NCCL_P2P_DISABLE=0: an /etc/nccl.conf may switch P2P off, and the variable wins.
    GpuStep step = nccl_step(based({{"NCCL_P2P_LEVEL", "SYS"}, {"NCCL_P2P_DISABLE", "0"}}));
    step.devices = devices;
    step.ranks = 2;
    const GpuStepResult with = run(step, name + "NCCL with P2P on");
    P2pStep rung = as_step(with);
    if (step_passed(rung) && !with.log.uses(NcclTransport::p2p)) {
      rung = P2pStep{};
      rung.detail = with.log.channels.empty()
                        ? "its log names no transport"
                        : "it would not use P2P: " + with.log.transports_text();
    }
    there.nccl = back.nccl = rung;
    if (!step_passed(rung) || stopped() || !base_.empty())
      return;  // without a base: nothing to compare
    step.environment = based({{"NCCL_P2P_DISABLE", "1"}});
    const GpuStepResult without = run(step, name + "NCCL through shared memory");
    there.p2p_bytes_per_second = back.p2p_bytes_per_second = nccl_rate(with);
    there.shm_bytes_per_second = back.shm_bytes_per_second = nccl_rate(without);
  }

  static double nccl_rate(const GpuStepResult& result) {
    double best = 0;
    for (const GpuFinding& finding : result.findings) {
      if (finding.what == "nccl") best = std::max(best, finding.figure("bytes_per_second"));
    }
    return best;
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
  Settings base_;  // without which NCCL fails here
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
  if (gpus.size() < 2) return LadderAnswer{facts, judge_p2p(facts), false};
  for (const LadderGpu& gpu : gpus) {
    const auto error = in_use(gpu, seen);
    if (error && (error->kind != ErrorKind::failed || !options.force)) return *error;
  }
  return Ladder(facts, gpus, seen, options, world).climb();
}

}  // namespace ocrtune
