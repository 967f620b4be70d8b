// Which CPUs each rank gets: our own division of the allowed CPUs into whole cores.
//
// hwloc_distrib gives uneven or doubled shares when the count does not divide the machine (three
// ranks on 16 cores: 8, 8 and 16), and ignores hybrid CPUs; equal ranks in a barrier need equal
// shares. Rules, in this order: no core serves two ranks while cores are left; one kind of core
// (P or E) for all ranks if one kind has enough; a rank stays inside one L3 group, else inside one
// NUMA node, wherever its size allows.
#pragma once

#include <string_view>
#include <vector>

#include "base/cpu_set.h"
#include "base/result.h"
#include "probes/machine/machine.h"

namespace ocrtune {

// CPUs that a trial can have at once: the least of affinity, cpuset and quota, at least 1.
int usable_cpu_count(const CpuFacts& cpu);

// One mask for each of `nproc` ranks of `threads` threads, by `binding`:
//   none     every rank may use all allowed CPUs
//   compact  as few L3 groups as possible, from the first one on
//   spread   ranks as far apart as possible: packages, then NUMA nodes, then L3 groups in turn
//   numa     as spread, and each rank also gets its share of the cores left in its L3 groups; a
//            rank never leaves its NUMA node
// Masks are disjoint (but for none), and hold all allowed SMT siblings of their cores unless there
// are more ranks than cores. Errors: usage for a bad argument, unsupported when the CPUs do not
// suffice (the text says how many are needed and allowed).
Result<std::vector<CpuSet>> partition_cpus(const CpuFacts& cpu, int nproc, int threads,
                                           std::string_view binding);

}  // namespace ocrtune
