// Are we in a container, a batch job or a virtual machine: they hide limits and neighbours.
#pragma once

#include <string>

#include "base/environment.h"
#include "base/files.h"
#include "probes/machine/machine.h"

namespace ocrtune {

// "docker", "podman", "kubernetes", "lxc", "systemd-nspawn", "slurm" ..., or "none".
Fact<std::string> read_container(const FileRoot& root, const Environment& environment);

// "kvm", "vmware", "hyper-v", "xen", "virtual machine" (of unknown make), or "none".
Fact<std::string> read_virtual_machine(const FileRoot& root);

}  // namespace ocrtune
