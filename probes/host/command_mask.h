// The CPUs to which the words of a command bind what it starts: taskset -c 0-3, taskset 0xf,
// numactl -C 0-3, numactl -N 1; in front of the program or inside of `sh -c`.
//
// A script or a program that binds itself is seen by its threads alone (trial/proc/thread_mask.h).
// Sources: taskset(1), numactl(8).
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.h"
#include "probes/machine/machine.h"

namespace ocrtune {

// Nothing: the words bind to no CPUs, to several sets in turn, or in a form that is not read.
std::optional<CpuSet> cpus_by_words(const std::vector<std::string>& command, const CpuFacts& cpu);

// The CPUs as such a command has them: fewer allowed ones, and no more usable or effective ones.
CpuFacts cpus_of(CpuFacts cpu, const std::vector<std::string>& command);

// The value of one of numactl's own options, which end at the program's name: {"--membind", "-m"}.
// `numactl`: where that word stands.
std::optional<std::string> numactl_value(const std::vector<std::string>& command,
                                         std::size_t numactl,
                                         std::initializer_list<std::string_view> names);

}  // namespace ocrtune
