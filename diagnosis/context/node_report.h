// The kernel's report of an out-of-memory kill of a process that was bound to some NUMA nodes:
// which of them were full, and what was free on the others.
//   python3 invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0
//    free:98432110 free_pcp:311 free_cma:0
//   Node 1 Normal free:44820kB boost:0kB min:45056kB low:109900kB high:174744kB ...
//   Node 1 Normal: 311*4kB (UME) 98*8kB (UM) ... = 44820kB
//   oom-kill:constraint=CONSTRAINT_MEMORY_POLICY,nodemask=1,cpuset=/,mems_allowed=0-1,...
// Mostly it lists the zones of the nodes that were allowed alone; its free pages are of all nodes.
// Sources: mm/oom_kill.c, dump_header and dump_oom_summary; show_free_areas in mm/show_mem.c
// (mm/page_alloc.c before Linux 6.5).
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "base/cpu_set.h"

namespace ocrtune {

struct NodeShortage {
  std::int64_t line = 0;  // that says the constraint
  CpuSet full;            // nodes that the process was bound to
  CpuSet others;          // that are listed beside them; empty: it lists none
  // 0: not known. Free on the others, listed or not.
  std::uint64_t full_free_bytes = 0, others_free_bytes = 0;
};

class NodeReport {
 public:
  static bool begins(std::string_view line);
  bool open() const { return open_; }
  // A line that begins a report, or says its constraint, and those between.
  void take_line(std::string_view line, std::int64_t number);
  const std::vector<NodeShortage>& shortages() const { return shortages_; }

 private:
  // Zones for devices (DMA, DMA32) keep a reserve that a program does not get.
  struct Free {
    std::uint64_t reserved_bytes = 0, usable_bytes = 0;
    bool has_usable = false;
    std::uint64_t bytes() const { return has_usable ? usable_bytes : reserved_bytes; }
  };
  void take_shortage(const CpuSet& bound, std::int64_t number);

  bool open_ = false;
  std::map<int, Free> nodes_;
  std::uint64_t free_pages_ = 0, page_bytes_ = 0;
  std::vector<NodeShortage> shortages_;
};

}  // namespace ocrtune
