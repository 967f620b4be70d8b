#include "bench/search/proposal_latency.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/clock.h"
#include "base/stats.h"
#include "tuner/session/replay.h"

namespace ocrtune {
namespace {

// CPU milliseconds of each proposal of one search of `trials` trials, in order.
std::vector<double> proposal_milliseconds(const SyntheticMachine& machine, int trials,
                                          std::uint64_t seed) {
  const Space space = space_of(machine.table);
  ReplayOptions options;
  options.margin = 0;
  options.seed = seed;
  const auto search = make_search(space, replay_search(machine.table, options));
  RecommendOptions answer;
  answer.limit_bytes = machine.table.memory_bytes;
  answer.margin = options.margin;
  std::vector<Trial> done;
  CountingClock clock;
  TableRunner runner(machine.table, clock, seed, machine.faults);
  std::vector<double> spent;
  for (int trial = 0; trial < trials; ++trial) {
    const double before = 1e3 * thread_cpu_seconds();
    auto proposal = search->next(trials - trial);
    if (!proposal && search->stop_reason() != "budget") {
      const auto question = open_question(space, *search, done, answer);
      if (question) proposal = search->settle(*question, trials - trial);
    }
    spent.push_back(1e3 * thread_cpu_seconds() - before);
    if (!proposal) break;
    done.push_back(runner.run(proposal->knobs, {}));
    done.back().phase = proposal->phase;
    const double told = 1e3 * thread_cpu_seconds();
    search->tell(done.back());
    spent.back() += 1e3 * thread_cpu_seconds() - told;
  }
  return spent;
}

}  // namespace

void print_latency(const std::vector<SyntheticMachine>& machines, int trials) {
  constexpr std::size_t kGroup = 10;
  std::map<std::size_t, std::vector<double>> groups;
  for (std::size_t m = 0; m < machines.size(); ++m) {
    const std::vector<double> spent = proposal_milliseconds(machines[m], trials, m + 1);
    for (std::size_t i = 0; i < spent.size(); ++i) groups[i / kGroup].push_back(spent[i]);
  }
  std::printf("| proposals | CPU ms median | p90 | max |\n|--|--|--|--|\n");
  for (const auto& [group, spent] : groups) {
    std::printf("| %zu to %zu | %.1f | %.1f | %.1f |\n", kGroup * group + 1, kGroup * (group + 1),
                median(spent), quantile(spent, 0.9), quantile(spent, 1));
  }
}

}  // namespace ocrtune
