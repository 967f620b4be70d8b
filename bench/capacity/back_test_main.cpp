// How well the scaling fit predicts counts that it has not seen, on simulated tables with known
// truth: median and 90th percentile of the error, and how often the 90 % interval holds.
//
//   build/capacity_back_test [tables] [seed]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/stats.h"
#include "extras/capacity/back_test.h"

namespace {

using ocrtune::BackTest;
using ocrtune::Random;
using ocrtune::ScalingPoint;

struct Family {
  const char* name;
  double roughness;  // frozen deviation of each count from the law
  double min_noise;  // of a repeat
  double max_noise;
  bool bandwidth;  // a soft ceiling that the law does not know
  bool mixed;      // Amdahl in the all-reduce: log n instead of n
};

constexpr Family kFamilies[] = {
    {"the law itself, 1-3 % noise", 0, 0.01, 0.03, false, false},
    {"rough, 1-5 % noise", 0.015, 0.01, 0.05, false, false},
    {"log n all-reduce, rough", 0.01, 0.01, 0.03, false, true},
    {"bandwidth ceiling, rough", 0.01, 0.01, 0.03, true, false},
};

// The truth of one machine: parts of it are outside the law's family on purpose.
struct SimulatedMachine {
  double gamma, sigma, kappa, ceiling, all_reduce;

  double rate(double n) const {
    const double law =
        gamma * n / (1 + sigma * (n - 1) + kappa * n * (n - 1) + all_reduce * std::log2(n));
    return ceiling > 0 ? law / std::pow(1 + std::pow(law / ceiling, 4), 0.25) : law;
  }
};

SimulatedMachine draw_machine(const Family& family, int most, Random& random) {
  SimulatedMachine machine{};
  machine.gamma = std::exp(random.uniform(std::log(5.0), std::log(500.0)));
  machine.sigma = random.uniform() < 0.2 ? 0 : random.uniform(0, 0.12);
  machine.kappa = random.uniform() < 0.3 ? 0 : random.uniform(0, 1.0) / (most * most);
  machine.all_reduce = family.mixed ? random.uniform(0, 0.08) : 0;
  if (family.bandwidth) machine.ceiling = machine.gamma * most * random.uniform(0.5, 1.2);
  return machine;
}

std::vector<ScalingPoint> draw_table(const Family& family, Random& random) {
  const std::vector<std::vector<int>> counts_tried = {
      {1, 2, 3, 4, 6, 8}, {1, 2, 4, 6, 8, 12, 16}, {1, 2, 4, 8, 12, 16, 24, 32}, {1, 2, 4, 8, 16}};
  const auto& counts = counts_tried[static_cast<std::size_t>(random.integer(0, 3))];
  const SimulatedMachine machine = draw_machine(family, counts.back(), random);
  const double noise = random.uniform(family.min_noise, family.max_noise);
  const auto repeats = random.integer(1, 5);
  std::vector<ScalingPoint> table;
  for (int n : counts) {
    const double truth = machine.rate(n) * std::exp(family.roughness * random.normal());
    ScalingPoint point{n, 1, {}};
    for (int i = 0; i < repeats; ++i) {
      point.samples_per_second.push_back(truth * std::exp(noise * random.normal()));
    }
    table.push_back(point);
  }
  return table;
}

struct Score {
  std::vector<double> errors;
  int covered = 0;

  void add(const BackTest& test) {
    errors.push_back(std::abs(test.error));
    covered += test.covered;
  }
};

void print_row(const std::string& name, const char* factor, const Score& score) {
  if (score.errors.empty()) return;
  std::printf("| %s | %s | %zu | %.1f %% | %.1f %% | %.0f %% |\n", name.c_str(), factor,
              score.errors.size(), 100 * ocrtune::median(score.errors),
              100 * ocrtune::quantile(score.errors, 0.9),
              100.0 * score.covered / static_cast<double>(score.errors.size()));
}

}  // namespace

int main(int argc, char** argv) {
  const int tables = argc > 1 ? std::atoi(argv[1]) : 500;
  Random random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  std::printf(
      "| tables | extrapolated by | back-tests | median error | p90 error | 90 %% interval holds "
      "|\n"
      "|--|--|--|--|--|--|\n");
  Score all_near;
  for (const Family& family : kFamilies) {
    Score near, twice, far;
    for (int i = 0; i < tables; ++i) {
      for (const BackTest& test : ocrtune::back_tests(draw_table(family, random))) {
        const double factor = test.factor();
        Score& score = factor < 1.75 ? near : factor <= 2.5 ? twice : far;
        score.add(test);
        if (factor <= 2.5) all_near.add(test);
      }
    }
    print_row(family.name, "under 1.75x", near);
    print_row(family.name, "1.75x-2.5x", twice);
    print_row(family.name, "over 2.5x", far);
  }
  print_row("all", "up to 2.5x", all_near);
  return 0;
}
