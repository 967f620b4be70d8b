// Names of the hosts of a run: a list, a hostfile or the allocation of a batch system.
#pragma once

#include <string>
#include <vector>

#include "base/environment.h"
#include "base/result.h"

namespace ocrtune {

struct HostName {
  std::string name;  // as a launcher takes it: "node7", "10.0.0.7", with ssh also "user@node7"
  int slots = 1;     // processes that the user allows there
};

// "a:2,b:2,c". A name given twice adds up its slots, as with mpirun.
// usage: empty, no number of slots, or a name that is none ('-x', 'a b').
Result<std::vector<HostName>> parse_host_list(const std::string& list);

// One host a line, "#" begins a comment: "a slots=4 max_slots=8" (Open MPI, DeepSpeed), "a:4"
// (MPICH) or "a", as often as it has slots (PBS). usage: names file and line.
Result<std::vector<HostName>> parse_hostfile(const std::string& text, const std::string& file);

// "n[01-03,7],rack[1-2]-gpu" -> n01 n02 n03 n7 rack1-gpu rack2-gpu. usage: unbalanced brackets, a
// range that falls, more than 65,536 names.
Result<std::vector<std::string>> expand_node_list(const std::string& list);

// `wanted` as the user types it: a list, the path of a hostfile, or "" for the allocation that this
// environment names (SLURM_JOB_NODELIST, PBS_NODEFILE). missing: no file, no allocation.
Result<std::vector<HostName>> resolve_hosts(const std::string& wanted,
                                            const Environment& environment);

}  // namespace ocrtune
