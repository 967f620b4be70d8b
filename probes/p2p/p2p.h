// Does GPU peer-to-peer work here, and what is the least change that makes training safe?
//
// A pure function of facts. Drivers, topology tools and even copies whose bytes arrive can all say
// yes on machines where every collective hangs, because a copy followed by a wait is a weaker
// guarantee than what NCCL's resident kernels need. So nothing here is P2P_OK unless a copy, an
// in-kernel handshake and a real collective were each run and checked; a failure overrides a
// driver's yes, and a pass never overrides its no. An out-of-memory kill is considered before any
// blame of P2P: a loader worker that ends by SIGKILL is that far more often.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/p2p/steps/nccl_log.h"
#include "probes/p2p/steps/p2p_facts.h"

namespace ocrtune {

enum class P2pClass {
  not_applicable,  // fewer than two GPUs
  ok,
  unsupported,  // the driver says no: NCCL uses shared memory by itself
  broken,
  partial,  // works up to some distance
  slow,     // works, and shared memory is faster at the workload's sizes
  nvlink_fault,
  shm_broken,
  flaky,
  inconclusive,
  gpu_wedged,
  oom_suspected,
};

std::string_view p2p_class_name(P2pClass verdict);  // "P2P_OK", "UNSUPPORTED", "BROKEN", ...

struct P2pPairVerdict {
  int from = 0, to = 0;
  P2pClass verdict = P2pClass::inconclusive;
  std::vector<std::string> evidence, not_checked;
  P2pPairFacts facts;  // the figures behind it
};

struct P2pVerdict {
  P2pClass verdict = P2pClass::inconclusive;
  std::string sentence;    // the verdict in words
  std::string confidence;  // "high": all rungs ran; "medium": some; "low": none, or flaky
  std::vector<P2pPairVerdict> pairs;
  // The least change. Stands only once proves_environment() holds for a re-run with exactly it.
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<std::string> evidence, not_checked;
  std::vector<std::string> hints;  // likely causes, what else to do
  std::string proof;  // of `env`: what the re-run with exactly it showed; "" where there is none
};

P2pVerdict judge_p2p(const P2pFacts& facts);

// Settles `verdict.env` by a re-run with exactly it: what did not pass, or whose log does not prove
// the change, is withdrawn and becomes a hint. `gpus`: the GPUs' numbers in the order of the ranks.
void settle_environment(const P2pStep& rerun, const NcclLog& log, const std::vector<int>& gpus,
                        P2pVerdict& verdict);

// True when the log of a passing run shows that NCCL took each variable over and that the transport
// followed: no P2P line under NCCL_P2P_DISABLE=1, no SHM line under NCCL_SHM_DISABLE=1, no P2P line
// between `barred` ranks.
bool proves_environment(const std::vector<std::pair<std::string, std::string>>& env,
                        const NcclLog& log, const std::vector<std::pair<int, int>>& barred = {});

}  // namespace ocrtune
