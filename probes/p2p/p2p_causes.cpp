// Causes are told by versions and platform alone. They never change a verdict or its environment.
#include "probes/p2p/p2p_causes.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

// The first driver that stopped claiming P2P for GeForce cards of the Ada generation.
constexpr const char* kFirstHonestDriver = "525.105.17";

bool is_geforce_ada(const P2pFacts& facts) {
  return std::any_of(facts.gpu_names.begin(), facts.gpu_names.end(), [](const std::string& name) {
    return name.find("RTX 40") != std::string::npos;
  });
}

std::vector<std::int64_t> version_parts(const std::string& version) {
  std::vector<std::int64_t> parts;
  for (const std::string& part : split(version.substr(0, version.find('-')), '.')) {
    // A part that is no number counts as 0, as in "580.65.06-p2p" without its suffix.
    parts.push_back(parse_integer(part).value_or(0));
  }
  return parts;
}

}  // namespace

bool older_version(const std::string& a, const std::string& b) {
  return version_parts(a) < version_parts(b);
}

void add_p2p_causes(const P2pFacts& facts, std::vector<std::string>& hints) {
  if (facts.iommu_translates == Tri::yes) {
    hints.emplace_back(
        "the IOMMU translates addresses, so writes between GPUs can get lost without an error: "
        "turn it off in the firmware or boot with iommu=pt");
  }
  if (facts.acs_redirects == Tri::yes) {
    hints.emplace_back(
        "PCIe access control (ACS) sends traffic between GPUs up to the root: turn it off in the "
        "firmware or with setpci");
  }
  const std::string driver = lower(facts.driver_version);
  if (driver.find("p2p") != std::string::npos) {
    hints.push_back("the driver " + facts.driver_version +
                    " is patched to claim P2P; NVIDIA's own does not");
  } else if (!driver.empty() && is_geforce_ada(facts) &&
             older_version(driver, kFirstHonestDriver)) {
    hints.push_back(fmt::format(
        "driver {} claims P2P that RTX 40 cards do not have; {} or newer says no by itself",
        facts.driver_version, kFirstHonestDriver));
  }
  if (facts.virtual_machine == Tri::yes) {
    hints.emplace_back(
        "in a virtual machine the host decides on P2P: ask for a passthrough set-up");
  }
}

void add_cumem_host_hint(const P2pFacts& facts, std::vector<std::string>& hints) {
  if (facts.nccl_version.empty() || facts.cuda_driver_version == 0) return;
  // From 2.24 to 2.26.4, with drivers of CUDA 12.6 up to 13.0.
  const bool nccl =
      !older_version(facts.nccl_version, "2.24") && older_version(facts.nccl_version, "2.26.5");
  const bool driver = facts.cuda_driver_version >= 12060 && facts.cuda_driver_version < 13000;
  if (nccl && driver) {
    hints.push_back("NCCL " + facts.nccl_version +
                    " may fail here for want of P2P: try NCCL_CUMEM_HOST_ENABLE=0 if it does");
  }
}

}  // namespace ocrtune
