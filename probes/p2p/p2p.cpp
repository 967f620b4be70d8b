// Each ordered pair is classed by itself, and the pairs together give the machine's class. An
// out-of-memory kill may take its place in the end. The order within judge_machine() goes from what
// makes every other finding worthless (a wedged GPU) to what needs all pairs to be good.
#include "probes/p2p/p2p.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "probes/p2p/p2p_causes.h"

namespace ocrtune {
namespace {

// As far as NCCL_P2P_LEVEL may reach, nearest first.
constexpr std::array<std::string_view, 5> kLevels = {"NVL", "PIX", "PXB", "PHB", "SYS"};
// A guess: less than 5 % may be the spread of the measurement.
constexpr double kSlow = 0.95;  // of the shared-memory rate

int distance(std::string_view level) {
  const auto at = std::find(kLevels.begin(), kLevels.end(), level);
  return at == kLevels.end() ? -1 : static_cast<int>(at - kLevels.begin());
}

bool failed(const P2pStep& step) {
  return step.result != StepResult::not_run && step.result != StepResult::passed;
}
bool passed(const P2pStep& step) { return step.result == StepResult::passed; }
bool ran(const P2pStep& step) { return step.result != StepResult::not_run; }
bool sometimes(const P2pStep& step) { return failed(step) && step.passed > 0; }

const char* result_words(StepResult result) {
  switch (result) {
    case StepResult::not_run:
      return "was not run";
    case StepResult::passed:
      return "passed";
    case StepResult::wrong_data:
      return "gave wrong data";
    case StepResult::hung:
      return "hung";
    case StepResult::crashed:
      return "crashed";
  }
  return "";
}

std::string step_text(const char* name, const P2pStep& step) {
  std::string text = fmt::format("{} {}", name, result_words(step.result));
  if (sometimes(step))
    text += fmt::format(" in {} of {} tries", step.tried - step.passed, step.tried);
  if (!step.detail.empty()) text += ": " + step.detail;
  return text;
}

void note_step(const char* name, const P2pStep& step, std::vector<std::string>& evidence,
               std::vector<std::string>& not_checked) {
  if (ran(step)) {
    evidence.push_back(step_text(name, step));
  } else {
    not_checked.push_back(step.detail.empty() ? name : fmt::format("{} ({})", name, step.detail));
  }
}

Tri driver_allows(const P2pPairFacts& pair) {
  if (pair.driver_read == Tri::no || pair.driver_write == Tri::no ||
      pair.can_access_peer == Tri::no) {
    return Tri::no;
  }
  // CUDA's own answer is enough, for NVML may not tell.
  const bool asked = pair.driver_read == Tri::yes && pair.driver_write == Tri::yes;
  return asked || pair.can_access_peer == Tri::yes ? Tri::yes : Tri::unknown;
}

const char* driver_words(Tri allows) {
  return allows == Tri::yes  ? "the driver allows P2P"
         : allows == Tri::no ? "the driver does not allow P2P"
                             : "whether the driver allows P2P is unknown";
}

P2pClass class_of_pair(const P2pPairFacts& pair, Tri allows) {
  if (allows == Tri::no) return pair.nvlink ? P2pClass::nvlink_fault : P2pClass::unsupported;
  // From the weakest guarantee to the strongest; the first that failed names the pair's class.
  for (const P2pStep* step : {&pair.copy, &pair.handshake, &pair.nccl, &pair.diagnostics}) {
    if (sometimes(*step)) return P2pClass::flaky;
    if (failed(*step)) return P2pClass::broken;
  }
  if (!passed(pair.copy) || !passed(pair.handshake) || !passed(pair.nccl)) {
    return P2pClass::inconclusive;
  }
  const bool measured = pair.p2p_bytes_per_second > 0 && pair.shm_bytes_per_second > 0;
  const bool slow = measured && pair.p2p_bytes_per_second < kSlow * pair.shm_bytes_per_second;
  return slow ? P2pClass::slow : P2pClass::ok;
}

void note_rates(const P2pPairFacts& pair, std::vector<std::string>& evidence) {
  if (pair.p2p_bytes_per_second > 0 && pair.shm_bytes_per_second > 0) {
    evidence.push_back(fmt::format("{:.1f} GB/s by P2P, {:.1f} GB/s through shared memory",
                                   pair.p2p_bytes_per_second * 1e-9,
                                   pair.shm_bytes_per_second * 1e-9));
  }
  if (pair.round_trip_seconds > 0) {
    evidence.push_back(
        fmt::format("a round trip of two kernels takes {:.1f} us", pair.round_trip_seconds * 1e6));
  }
  if (pair.copy_bytes_per_second <= 0 || pair.expected_bytes_per_second <= 0) return;
  // Below 0.5 and 0.8 are guesses; healthy machines come within about 10 % (link_speed.h).
  const double share = pair.copy_bytes_per_second / pair.expected_bytes_per_second;
  evidence.push_back(fmt::format("copies run at {:.1f} GB/s of {:.1f} expected{}",
                                 pair.copy_bytes_per_second * 1e-9,
                                 pair.expected_bytes_per_second * 1e-9,
                                 share < 0.5   ? ": far too slow, look at the link's width"
                                 : share < 0.8 ? ": slow"
                                               : ""));
}

P2pPairVerdict judge_pair(const P2pPairFacts& pair) {
  P2pPairVerdict out;
  out.facts = pair;
  out.from = pair.from;
  out.to = pair.to;
  const Tri allows = driver_allows(pair);
  out.verdict = class_of_pair(pair, allows);
  out.evidence.emplace_back(driver_words(allows));
  if (pair.nvlink) {
    out.evidence.emplace_back("the GPUs are joined by NVLink");
  } else if (!pair.level.empty()) {
    out.evidence.push_back("PCIe distance " + pair.level);
  }
  if (allows == Tri::no) return out;  // what "passed" here was staged through the host
  note_step("copy between the GPUs", pair.copy, out.evidence, out.not_checked);
  note_step("handshake of two kernels", pair.handshake, out.evidence, out.not_checked);
  note_step("NCCL with P2P on", pair.nccl, out.evidence, out.not_checked);
  if (ran(pair.diagnostics)) {
    out.evidence.push_back(step_text("NCCL's own diagnostics", pair.diagnostics));
  }
  if (pair.rates_from >= 0) {
    out.evidence.push_back(fmt::format("rates of GPUs {} and {}, the slowest pair at this distance",
                                       pair.rates_from, pair.rates_to));
  }
  note_rates(pair, out.evidence);
  return out;
}

bool any(const std::vector<P2pPairVerdict>& pairs, P2pClass verdict) {
  return std::any_of(pairs.begin(), pairs.end(),
                     [&](const P2pPairVerdict& pair) { return pair.verdict == verdict; });
}

bool all(const std::vector<P2pPairVerdict>& pairs, P2pClass verdict) {
  return !pairs.empty() && std::all_of(pairs.begin(), pairs.end(), [&](const P2pPairVerdict& pair) {
    return pair.verdict == verdict;
  });
}

// The largest level below which every usable pair is good, where all bad ones lie above it.
std::optional<std::string> largest_good_level(const P2pFacts& facts,
                                              const std::vector<P2pPairVerdict>& pairs) {
  int best_good = -1;
  int nearest_bad = static_cast<int>(kLevels.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].verdict == P2pClass::unsupported) continue;
    const int level = facts.pairs[i].nvlink ? 0 : distance(facts.pairs[i].level);
    if (level < 0) return std::nullopt;
    if (pairs[i].verdict == P2pClass::ok) {
      best_good = std::max(best_good, level);
    } else {
      nearest_bad = std::min(nearest_bad, level);
    }
  }
  // A good pair beyond a bad one: no level parts them.
  if (best_good < 0 || best_good >= nearest_bad) return std::nullopt;
  return std::string(kLevels[static_cast<std::size_t>(best_good)]);
}

void judge_failures(const P2pFacts& facts, P2pVerdict& out) {
  const bool broken = any(out.pairs, P2pClass::broken);
  if (const auto level = largest_good_level(facts, out.pairs)) {
    out.verdict = P2pClass::partial;
    out.env = {{"NCCL_P2P_LEVEL", *level}};
    out.sentence = "P2P works up to distance " + *level + " and fails beyond it";
  } else {
    out.verdict = broken ? P2pClass::broken : P2pClass::flaky;
    out.env = {{"NCCL_P2P_DISABLE", "1"}};
    out.sentence = broken ? "the driver offers P2P, and it does not work"
                          : "P2P works in some tries and fails in others: treat it as broken";
  }
  if (!ran(facts.control)) {
    out.hints.emplace_back("run NCCL with P2P off before trusting this: it may fail as well");
  }
  add_p2p_causes(facts, out.hints);
}

void judge_slow(const P2pFacts& facts, P2pVerdict& out) {
  out.verdict = P2pClass::slow;
  const auto level = largest_good_level(facts, out.pairs);
  out.env = {level ? std::pair<std::string, std::string>{"NCCL_P2P_LEVEL", *level}
                   : std::pair<std::string, std::string>{"NCCL_P2P_DISABLE", "1"}};
  out.sentence = "P2P works, and shared memory is faster at this workload's sizes";
  out.hints.emplace_back("this is an option for speed, not for safety");
}

void judge_unsupported(const P2pFacts& facts, P2pVerdict& out) {
  out.verdict = P2pClass::unsupported;
  out.sentence =
      "the driver does not allow P2P: NCCL uses shared memory by itself, and NCCL_P2P_DISABLE=1 "
      "changes nothing";
  add_cumem_host_hint(facts, out.hints);
}

void judge_ok(const P2pFacts& facts, P2pVerdict& out) {
  out.verdict = P2pClass::ok;
  out.sentence = "P2P works: copies, kernels and collectives were all checked";
  for (const char* name : {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"}) {
    if (facts.nccl_settings.count(name) != 0) {
      out.hints.push_back(fmt::format("{} is set already and may now be removed", name));
    }
  }
}

void judge_pairs(const P2pFacts& facts, P2pVerdict& out) {
  if (any(out.pairs, P2pClass::broken) || any(out.pairs, P2pClass::flaky)) {
    judge_failures(facts, out);
  } else if (failed(facts.soak)) {
    out.verdict = P2pClass::flaky;
    out.env = {{"NCCL_P2P_DISABLE", "1"}};
    out.sentence = "P2P works at first and fails under lasting load";
    add_p2p_causes(facts, out.hints);
  } else if (all(out.pairs, P2pClass::unsupported)) {
    judge_unsupported(facts, out);
  } else if (out.pairs.empty() || any(out.pairs, P2pClass::inconclusive)) {
    out.verdict = P2pClass::inconclusive;
    out.sentence = "P2P was not checked all the way: a driver's yes is no proof";
  } else if (any(out.pairs, P2pClass::slow)) {
    judge_slow(facts, out);
  } else {
    judge_ok(facts, out);
  }
}

// NCCL fails with P2P off as well: whatever is wrong, it is not P2P.
void judge_control_failure(const P2pFacts& facts, P2pVerdict& out) {
  const bool without_cumem = passed(facts.control_without_cumem_host);
  if (!without_cumem && !passed(facts.control_without_shm)) {
    out.verdict = P2pClass::inconclusive;
    out.sentence = "NCCL fails with P2P off as well: the cause lies elsewhere";
    out.hints.emplace_back("look at NCCL's first WARN line and at the versions");
    return;
  }
  out.verdict = P2pClass::shm_broken;
  const bool bad = any(out.pairs, P2pClass::broken) || any(out.pairs, P2pClass::flaky);
  const bool open = any(out.pairs, P2pClass::inconclusive);
  out.sentence = bad    ? "NCCL's shared memory fails, and so does P2P"
                 : open ? "NCCL's shared memory fails; P2P was not checked, so it stays off as well"
                        : "NCCL's shared memory fails, not P2P";
  // The same bound as that of the warning in probes/host/memory.cpp.
  constexpr std::uint64_t kEnough = 1ULL << 30;
  if (facts.shm_bytes > 0 && facts.shm_bytes < kEnough) {
    out.hints.push_back(
        fmt::format("/dev/shm has {}: start the container with --shm-size=8g or "
                    "--ipc=host, then no variable is needed",
                    format_bytes(facts.shm_bytes)));
  }
  out.env = {without_cumem ? std::pair<std::string, std::string>{"NCCL_CUMEM_HOST_ENABLE", "0"}
                           : std::pair<std::string, std::string>{"NCCL_SHM_DISABLE", "1"}};
  if (bad || open) out.env.emplace_back("NCCL_P2P_DISABLE", "1");  // as the run that passed had it
}

void judge_machine(const P2pFacts& facts, P2pVerdict& out) {
  if (facts.wedged) {
    out.verdict = P2pClass::gpu_wedged;
    out.sentence = "a GPU is busy with no process on it: reset it or restart the machine";
    if (!facts.wedged_detail.empty()) out.evidence.push_back(facts.wedged_detail);
  } else if (facts.gpus < 2) {
    out.verdict = P2pClass::not_applicable;
    out.sentence = facts.gpus == 0 ? "there is no GPU, so there is no P2P" : "one GPU has no peer";
  } else if (any(out.pairs, P2pClass::nvlink_fault)) {
    out.verdict = P2pClass::nvlink_fault;
    out.sentence =
        "NVLink joins these GPUs, but the driver refuses P2P over it: a fault of the hardware or "
        "of the fabric manager";
    out.hints.emplace_back("look at nvidia-smi nvlink --status and the fabric manager's log");
  } else if (failed(facts.control)) {
    judge_control_failure(facts, out);
  } else {
    judge_pairs(facts, out);
  }
}

// A kill for want of memory explains a dead training wherever the links are fine.
void consider_memory(const P2pFacts& facts, P2pVerdict& out) {
  if (facts.oom_kill != Tri::yes) return;
  const std::set<P2pClass> innocent = {P2pClass::not_applicable, P2pClass::ok,
                                       P2pClass::unsupported, P2pClass::slow,
                                       P2pClass::inconclusive};
  if (innocent.count(out.verdict) == 0) {
    out.hints.emplace_back("the training was also killed for want of memory: mend that first");
    return;
  }
  out.hints.push_back("of P2P: " + out.sentence);
  out.verdict = P2pClass::oom_suspected;
  out.sentence =
      "the training was killed for want of host memory: NCCL settings will not help; fewer or "
      "smaller loader workers, processes or batches will";
  out.env.clear();
}

std::string confidence_of(const P2pFacts& facts, const P2pVerdict& out) {
  if (out.verdict == P2pClass::not_applicable) return "high";
  if (out.verdict == P2pClass::flaky || out.verdict == P2pClass::inconclusive) return "low";
  if (ran(facts.control) && out.not_checked.empty()) return "high";
  const bool anything =
      ran(facts.control) ||
      std::any_of(facts.pairs.begin(), facts.pairs.end(),
                  [](const P2pPairFacts& pair) { return ran(pair.copy) || ran(pair.handshake); });
  return anything || facts.wedged ? "medium" : "low";
}

// What the system sets up that P2P hangs on.
void note_system(const P2pFacts& facts, P2pVerdict& out) {
  if (facts.iommu_translates != Tri::unknown) {
    out.evidence.emplace_back(facts.iommu_translates == Tri::yes
                                  ? "the IOMMU translates addresses of devices"
                                  : "no IOMMU translates addresses of devices");
  }
  if (facts.acs_redirects != Tri::unknown) {
    out.evidence.emplace_back(facts.acs_redirects == Tri::yes
                                  ? "PCIe access control (ACS) redirects traffic between devices"
                                  : "no PCIe access control (ACS) redirects traffic");
  }
  std::vector<std::string> settings;
  for (const auto& [name, value] : facts.nccl_settings) {
    const auto file = facts.nccl_files.find(name);
    settings.push_back(fmt::format("{}={} ({})", name, value,
                                   file == facts.nccl_files.end() ? "environment" : file->second));
  }
  if (!settings.empty()) out.evidence.push_back("NCCL is set up already: " + join(settings, ", "));
}

}  // namespace

std::string_view p2p_class_name(P2pClass verdict) {
  constexpr std::array<std::string_view, 12> kNames = {
      "NOT_APPLICABLE", "P2P_OK",     "UNSUPPORTED", "BROKEN",       "PARTIAL",    "SLOW",
      "NVLINK_FAULT",   "SHM_BROKEN", "FLAKY",       "INCONCLUSIVE", "GPU_WEDGED", "OOM_SUSPECTED"};
  return kNames[static_cast<std::size_t>(verdict)];
}

P2pVerdict judge_p2p(const P2pFacts& facts) {
  P2pVerdict out;
  for (const P2pPairFacts& pair : facts.pairs) out.pairs.push_back(judge_pair(pair));
  if (facts.gpus >= 2) {
    note_system(facts, out);
    note_step("NCCL with P2P off", facts.control, out.evidence, out.not_checked);
    if (failed(facts.control)) {
      note_step("NCCL without shared memory", facts.control_without_shm, out.evidence,
                out.not_checked);
      note_step("NCCL without cuMem host buffers", facts.control_without_cumem_host, out.evidence,
                out.not_checked);
    }
    if (ran(facts.soak)) out.evidence.push_back(step_text("soak", facts.soak));
  }
  judge_machine(facts, out);
  consider_memory(facts, out);
  std::set<std::string> open;
  for (const P2pPairVerdict& pair : out.pairs) {
    open.insert(pair.not_checked.begin(), pair.not_checked.end());
  }
  out.not_checked.insert(out.not_checked.end(), open.begin(), open.end());
  out.confidence = confidence_of(facts, out);
  if (facts.gpus >= 2) {
    if (!ran(facts.soak)) out.not_checked.emplace_back("lasting load (soak)");
    if (!facts.not_run_because.empty()) {
      out.hints.push_back("nothing was run on the GPUs: " + facts.not_run_because);
    }
    if (!facts.nccl_missing.empty()) out.hints.push_back(facts.nccl_missing);
    if (facts.iommu_translates == Tri::unknown) {
      out.not_checked.emplace_back("the IOMMU: /sys/kernel/iommu_groups cannot be read");
    }
    if (facts.acs_redirects == Tri::unknown) {
      out.not_checked.emplace_back(
          "PCIe access control (ACS): no bridge could be read, which needs root");
    }
    if (!out.env.empty()) {
      out.hints.emplace_back(
          "NCCL_* variables do not cover copies that a framework makes itself in one process");
    }
  }
  return out;
}

namespace {

// Ranks between which NCCL must not use P2P under this environment.
std::vector<std::pair<int, int>> barred_ranks(const P2pVerdict& verdict,
                                              const std::vector<int>& gpus) {
  std::vector<std::pair<int, int>> barred;
  const auto level = std::find_if(verdict.env.begin(), verdict.env.end(), [](const auto& setting) {
    return setting.first == "NCCL_P2P_LEVEL";
  });
  if (level == verdict.env.end()) return barred;
  // A GPU that is not among the ranks gets a number that no channel has.
  const auto rank = [&](int gpu) {
    return static_cast<int>(std::find(gpus.begin(), gpus.end(), gpu) - gpus.begin());
  };
  for (const P2pPairVerdict& pair : verdict.pairs) {
    const int here = pair.facts.nvlink ? 0 : distance(pair.facts.level);
    if (here > distance(level->second)) barred.emplace_back(rank(pair.from), rank(pair.to));
  }
  return barred;
}

}  // namespace

void settle_environment(const P2pStep& rerun, const NcclLog& log, const std::vector<int>& gpus,
                        P2pVerdict& verdict) {
  if (verdict.env.empty()) return;
  std::vector<std::string> settings;
  for (const auto& [name, value] : verdict.env) settings.push_back(name + "=" + value);
  const std::string text = join(settings, " ");
  if (passed(rerun) && proves_environment(verdict.env, log, barred_ranks(verdict, gpus))) {
    verdict.proof = fmt::format("NCCL ran again with {} and passed; its log shows {}", text,
                                log.transports_text());
    return;
  }
  verdict.proof =
      passed(rerun) ? fmt::format("NCCL passed with {}, but its log does not show the change ({})",
                                  text, log.channels.empty() ? "no channel" : log.transports_text())
                    : step_text(("the re-run with " + text).c_str(), rerun);
  verdict.hints.push_back(
      text + " would follow from the findings, but is not recommended: " + verdict.proof);
  verdict.env.clear();
}

bool proves_environment(const std::vector<std::pair<std::string, std::string>>& env,
                        const NcclLog& log, const std::vector<std::pair<int, int>>& barred) {
  // A log without a channel proves nothing.
  if (log.channels.empty()) return false;
  const bool too_far =
      std::any_of(log.channels.begin(), log.channels.end(), [&](const NcclChannel& channel) {
        return channel.transport == NcclTransport::p2p &&
               std::find(barred.begin(), barred.end(),
                         std::pair<int, int>{channel.from, channel.to}) != barred.end();
      });
  if (too_far) return false;
  for (const auto& setting : env) {
    const bool taken =
        std::find(log.environment.begin(), log.environment.end(), setting) != log.environment.end();
    if (!taken) return false;
    if (setting == std::pair<std::string, std::string>{"NCCL_P2P_DISABLE", "1"} &&
        log.uses(NcclTransport::p2p)) {
      return false;
    }
    if (setting == std::pair<std::string, std::string>{"NCCL_SHM_DISABLE", "1"} &&
        log.uses(NcclTransport::shm)) {
      return false;
    }
  }
  return true;
}

}  // namespace ocrtune
