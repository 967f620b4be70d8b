// The peer-to-peer verdict as one JSON document.
#pragma once

#include <string>

#include "probes/p2p/nccl_sweep.h"
#include "probes/p2p/p2p.h"

namespace ocrtune {

// `state` says in words which GPUs there are. Keys: gpu_state, verdict, sentence, confidence, env,
// proof, pairs[] {from, to, verdict, evidence[], not_checked[]}, evidence[], not_checked[],
// hints[].
// With a sweep also: sweep {best, sentence, gain {median, low, high}, env, compute_seconds,
// warnings[], settings[] {name, env, outcome, detail, step_seconds[], speedup {median, low, high},
// all_reduce_seconds, bytes_per_second, transports}}.
std::string p2p_json(const P2pVerdict& verdict, const std::string& state,
                     const SweepAnswer* sweep = nullptr, int indent = 2);

}  // namespace ocrtune
