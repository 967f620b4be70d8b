// How fast memory really is: a[i] = b[i] + s * c[i] over arrays that no cache holds.
//
// Non-temporal stores, so that 24 bytes an element is the honest count (ordinary stores read the
// line first, a hidden third more). Every thread is pinned and touches its own arrays first, so
// they lie on its own NUMA node. The arrays grow until the figure stops falling: the caches that
// hypervisors show are often not those that work.
// Source: McCalpin's STREAM; the counting rule is likwid's stream_mem.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "probes/machine/machine.h"

namespace ocrtune {

struct Bandwidth {
  Fact<double> bytes_per_second;                // best of all team sizes
  std::vector<std::pair<int, double>> by_team;  // (threads, bytes per second): 1, half, all
};

struct BandwidthOptions {
  std::vector<int> cpus;           // whole cores first
  std::uint64_t cache_bytes = 0;   // all last-level caches together; 0: unknown
  int cache_groups = 1;            // that they are divided into
  std::uint64_t memory_bytes = 0;  // may be used for arrays at most
  double seconds = 2;              // at most; a round that has begun ends
};

// Unknown with a reason when there is too little memory for arrays beyond the caches.
Bandwidth measure_bandwidth(const BandwidthOptions& plan);

}  // namespace ocrtune
