// Machines that do not exist: tables of what every setting would do there, for testing searches.
//
// Four kinds, made by different means so that no search can win by knowing one set of formulas:
//   formula  scaling laws multiplied together, with frozen roughness;
//   queue    cores, caches, memory channels, fork-join phases and loader queues played through;
//   field    no machine at all: random curves along each axis and random interactions;
//   mechanism  ranks, loaders and storage that wait for each other, in tight memory, with limits on
//            /dev/shm, processes, descriptors, one rank's memory and samples, and noise to 29 %.
// The same seed gives the same machine everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trial/table_runner.h"

namespace ocrtune {

struct SyntheticRequest {
  std::string kind = "formula";
  std::uint64_t seed = 1;
  double roughness = 1;      // multiplies the frozen point-to-point irregularity
  double noise = 1;          // multiplies the noise between repeats
  bool small = false;        // a machine of 2 to 4 cores: at most 150 settings
  bool other_model = false;  // kind mechanism: the same machine and space, a job of other sizes
};

struct SyntheticMachine {
  RecordedTable table;
  ReplayFaults faults;  // drift and outliers, which a table cannot say
  int process_cap = 0;  // 0: none; above it every setting crashes
};

SyntheticMachine make_synthetic_machine(const SyntheticRequest& request);

const std::vector<std::string>& synthetic_kinds();

// As a file that parse_table() reads.
std::string table_csv(const RecordedTable& table);

}  // namespace ocrtune
