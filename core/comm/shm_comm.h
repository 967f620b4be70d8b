// Comm of the ranks of one host. Gradients live in one shared memory segment, so an all-reduce
// moves each number once: every rank averages its share of the range in all slices in place.
//
// Two barriers an all-reduce; they spin for some microseconds, then sleep in the kernel. While
// asleep a rank looks 50 times a second whether its peers live: a peer that died (or that exited,
// or is a zombie) ends every waiting call within about 20 ms, a peer that lives but does not come
// within `silence_seconds` likewise. All survivors name the same rank.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "core/comm/comm.h"

namespace ocrtune {

struct ShmCommOptions {
  std::string segment;           // from new_segment_name() of the launcher; the same for all ranks
  RankPlace place;               // world_size 1 to 64, all on this host
  int threads = 1;               // OpenMP team that moves long ranges
  double attach_seconds = 60;    // until all ranks must be there
  double silence_seconds = 300;  // longest wait for a peer that lives: above any step's time
};

// usage: not one host, rank out of range; exhausted: /dev/shm too small; failed: a peer is missing.
// Returns once all ranks are attached; the segment has no name from then on.
Result<std::unique_ptr<Comm>> make_shm_comm(const ShmCommOptions& options);

std::string new_segment_name();               // "/ocrtune-<pid>-<random>", unique on this host
bool is_segment_name(std::string_view name);  // of a file in /dev/shm: without the slash

// For the launcher once its ranks have ended: removes the name if ranks were killed while
// attaching. No error if there is none.
void remove_segment(const std::string& name);

}  // namespace ocrtune
