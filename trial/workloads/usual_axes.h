// Values of the knobs that are worth a look on a machine, as the kinds of workloads share them.
//
// On CPUs processes x threads go up to the usable ones, with a few oversubscribed combinations so
// that the claim "do not oversubscribe" is measured and not assumed. On GPUs a process is a GPU.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "probes/machine/machine.h"
#include "trial/knobs.h"

namespace ocrtune {

// Doubled from `least`; no more than the samples that are there.
struct BatchRange {
  int least = 4;
  int most = 64;
};
// `most`, or the number of samples of a data set that is smaller; 0: not known.
BatchRange batches_within(BatchRange range, std::int64_t samples);

std::vector<std::string> number_texts(const std::vector<int>& numbers);
std::vector<int> half_doublings(int most);  // 1 2 3 4 6 8 12 16 24 ... up to `most`, and `most`
std::vector<std::string> doublings(BatchRange range);
std::vector<std::string> bindings(const Machine& machine);

// nproc, threads, batch, workers, binding.
std::vector<Axis> cpu_axes(const Machine& machine, BatchRange batches);
bool sensible_on_cpus(const Machine& machine, const Knobs& knobs,
                      const std::set<std::string>& listed);

// One process for each GPU; the CPUs only load and hand out work: nproc, threads, batch, workers.
std::vector<Axis> gpu_axes(const Machine& machine, int gpus, std::vector<std::string> batches);
bool sensible_on_gpus(const Machine& machine, const Knobs& knobs,
                      const std::set<std::string>& listed);

// Puts the axis in the place of the one of its name, or at the end.
void set_axis(std::vector<Axis>& axes, Axis axis);

}  // namespace ocrtune
