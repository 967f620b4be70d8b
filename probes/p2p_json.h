// The peer-to-peer verdict as one JSON document.
#pragma once

#include <string>

#include "probes/p2p.h"

namespace ocrtune {

// `state` says in words which GPUs there are. Keys: gpu_state, verdict, sentence, confidence, env,
// proof, pairs[] {from, to, verdict, evidence[], not_checked[]}, evidence[], not_checked[],
// hints[].
std::string p2p_json(const P2pVerdict& verdict, const std::string& state, int indent = 2);

}  // namespace ocrtune
