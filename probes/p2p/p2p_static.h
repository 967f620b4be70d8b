// The facts about GPU peer-to-peer that can be had without running anything on a GPU.
#pragma once

#include "base/environment.h"
#include "base/files.h"
#include "probes/machine/machine.h"
#include "probes/p2p/p2p.h"

namespace ocrtune {

// Yes where some group of the IOMMU translates, no where all pass through or there is none.
Tri read_iommu_translates(const FileRoot& root);

// Yes where a PCIe bridge redirects peer traffic to the root; unknown where the configuration space
// cannot be read (without root it ends after 64 bytes).
Tri read_acs_redirects(const FileRoot& root);

// NCCL_* settings as NCCL will see them: the environment wins over ~/.nccl.conf (or
// NCCL_CONF_FILE), and that over /etc/nccl.conf.
// `files` (may be null) gets the path of the file behind each that the environment does not set.
Environment read_nccl_settings(const FileRoot& root, const Environment& environment,
                               Environment* files = nullptr);

P2pFacts static_p2p_facts(const Machine& machine, const FileRoot& root,
                          const Environment& environment);

P2pSummary p2p_summary(const P2pVerdict& verdict);

}  // namespace ocrtune
