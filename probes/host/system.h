// Who this machine is, and the system settings that change how figures come out.
#pragma once

#include <string>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "probes/host/notes.h"
#include "probes/machine/machine.h"

namespace ocrtune {

struct SystemIdentity {
  std::string host, kernel, os;
};

// Live: uname and /etc/os-release; a saved tree: /proc/sys/kernel/{hostname,osrelease}.
SystemIdentity read_identity(const FileRoot& root);

// As uname -m says it; of a saved tree what its /proc tells. "" when it cannot be known.
std::string read_architecture(const FileRoot& root);

// The processor as /proc/cpuinfo names it, an ARM one by its part; "" when it does not.
std::string read_cpu_model(const FileRoot& root);

Fact<std::string> read_governor(const FileRoot& root);

// NUMA balancing, clock source, SMT control, huge pages, pressure, throttling so far: each with its
// file. Only those that are there.
std::vector<SystemSetting> read_settings(const FileRoot& root, Notes& notes);

// Are we in a container, a batch job or a virtual machine: they hide limits and neighbours.

// "docker", "podman", "kubernetes", "lxc", "systemd-nspawn", "slurm" ..., or "none".
Fact<std::string> read_container(const FileRoot& root, const Environment& environment);

// "kvm", "vmware", "hyper-v", "xen", "WSL 2", "virtual machine" (of unknown make), or "none".
Fact<std::string> read_virtual_machine(const FileRoot& root);

}  // namespace ocrtune
