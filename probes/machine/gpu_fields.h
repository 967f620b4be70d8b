// What a GPU driver says, as JSON: for the worker's report and for the machine card.
#pragma once

#include "probes/machine/fact_json.h"

namespace ocrtune {

template <typename Io, Like<GpuFacts> T>
void list_fields(const Io& visit, T& gpu) {
  OCRTUNE_VISIT(gpu, name, uuid, pci_bus_id, near_cpus, driver, compute_capability, compute_mode,
                persistence, ecc, mig, index, numa, pcie_generation, pcie_width,
                pcie_generation_most, pcie_width_most, nvlinks, sm_clock_mhz, sm_clock_most_mhz,
                temperature_celsius, busy_percent, memory_bytes, memory_used_bytes, power_watts,
                power_limit_watts, slices, pids, drawing_pids);
}

template <typename Io, Like<GpuLink> T>
void list_fields(const Io& visit, T& link) {
  OCRTUNE_VISIT(link, from, to, level, nvlink, read, write, atomics);
}

template <typename Io, Like<SeenGpu> T>
void list_fields(const Io& visit, T& gpu) {
  visit("logical", gpu.logical);
  visit("physical", gpu.physical, -1);
  visit("uuid", gpu.uuid);
}

}  // namespace ocrtune
