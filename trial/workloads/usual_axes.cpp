// The lists are short on purpose: each value multiplies the space. What is left out when two lists
// are crossed is a matter of `sensible`, so that a user's own list is never cut.
#include "trial/workloads/usual_axes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "probes/placement/partition.h"

namespace ocrtune {

BatchRange batches_within(BatchRange range, std::int64_t samples) {
  if (samples > 0 && samples < range.most) range.most = static_cast<int>(samples);
  return range;
}

std::vector<std::string> number_texts(const std::vector<int>& numbers) {
  std::vector<std::string> words;
  words.reserve(numbers.size());
  for (int number : numbers) words.push_back(fmt::format("{}", number));
  return words;
}

std::vector<int> half_doublings(int most) {
  std::vector<int> values;
  for (int power = 1; power <= most; power *= 2) {
    values.push_back(power);
    if (power >= 2 && power + power / 2 <= most) values.push_back(power + power / 2);
  }
  // The whole machine is always among them.
  if (values.back() != most) values.push_back(most);
  return values;
}

std::vector<std::string> doublings(BatchRange range) {
  std::vector<int> values;
  // A data set smaller than the least batch still has one batch to try.
  for (int value = std::min(range.least, range.most); value <= range.most; value *= 2) {
    values.push_back(value);
  }
  return number_texts(values);
}

std::vector<std::string> bindings(const Machine& machine) {
  std::vector<std::string> values = {"none"};
  if (usable_cpu_count(machine.cpu) > 1) values.emplace_back("compact");
  if (machine.cpu.packages > 1 || machine.cpu.l3_groups > 1) values.emplace_back("spread");
  if (machine.cpu.numa_nodes > 1) values.emplace_back("numa");
  return values;
}

std::vector<Axis> cpu_axes(const Machine& machine, BatchRange batches) {
  const int cpus = usable_cpu_count(machine.cpu);
  std::vector<int> processes = half_doublings(cpus);
  processes.push_back(cpus * 2);  // oversubscribed, to measure what that costs
  std::vector<int> workers = {0, 1, 2, 4};
  std::erase_if(workers, [&](int count) { return count > cpus; });
  return {{"nproc", {}, number_texts(processes)},
          {"threads", {}, number_texts(half_doublings(cpus))},
          {"batch", {}, doublings(batches)},
          {"workers", {}, number_texts(workers)},
          {"binding", {}, bindings(machine)}};
}

// What our own lists leave out when crossed: far oversubscribed compute, more loaders than CPUs can
// feed. A user's list of both knobs is taken as it is.
bool sensible_on_cpus(const Machine& machine, const Knobs& knobs,
                      const std::set<std::string>& listed) {
  const int cpus = usable_cpu_count(machine.cpu);
  const int team = knobs.nproc * knobs.threads;
  if (listed.count("nproc") == 0 || listed.count("threads") == 0) {
    const bool at_double =
        team == 2 * cpus && (knobs.threads == 1 || knobs.nproc == cpus || knobs.threads == cpus);
    if (team > cpus && !at_double) return false;
  }
  // One process has no one to share a queue with.
  if (knobs.nproc == 1 && knobs.queue != "shared" && listed.count("queue") == 0) return false;
  return listed.count("workers") != 0 || knobs.workers <= 1 ||
         knobs.nproc * knobs.workers <= 2 * cpus;
}

std::vector<Axis> gpu_axes(const Machine& machine, int gpus, std::vector<std::string> batches) {
  const int cpus = usable_cpu_count(machine.cpu);
  std::vector<int> workers = {0, 1, 2, 4, 8};
  std::erase_if(workers, [&](int count) { return count > cpus; });
  return {{"nproc", {}, number_texts(half_doublings(gpus))},
          // A process on a GPU hands out work from one thread.
          {"threads", {}, {"1"}},
          {"batch", {}, std::move(batches)},
          {"workers", {}, number_texts(workers)}};
}

bool sensible_on_gpus(const Machine& machine, const Knobs& knobs,
                      const std::set<std::string>& listed) {
  const auto set = [&](const std::string& value, const char* name) {
    return value != "auto" && listed.count(name) == 0;
  };
  // Both bind the ranks.
  const auto near_gpu = knobs.dims.find("numa_binding");
  if (near_gpu != knobs.dims.end() && near_gpu->second != "none" && knobs.binding != "none") {
    return false;
  }
  // One GPU exchanges nothing.
  if (knobs.nproc == 1 && (set(knobs.p2p, "p2p") || set(knobs.ctas, "ctas"))) return false;
  return listed.count("workers") != 0 ||
         knobs.nproc * knobs.workers <= 2 * usable_cpu_count(machine.cpu);
}

void set_axis(std::vector<Axis>& axes, Axis axis) {
  const auto same = [&](const Axis& other) { return other.name == axis.name; };
  const auto found = std::find_if(axes.begin(), axes.end(), same);
  if (found == axes.end()) {
    axes.push_back(std::move(axis));
  } else {
    found->values = std::move(axis.values);
  }
}

}  // namespace ocrtune
