// Scores search strategies on simulated machines and recorded tables; writes a Markdown table.
//
//   search_bench --kinds formula,queue --machines 100 --trials 15,25,40,60 --strategies ours
//   search_bench --write-tables DIR      leaves the machines as tables for other programs
//   search_bench --latency --trials 150  CPU time of single proposals
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/files.h"
#include "base/stats.h"
#include "bench/search/proposal_latency.h"
#include "bench/search/strategies.h"
#include "bench/synthetic/synthetic_machine.h"
#include "tuner/search/hints.h"
#include "tuner/session/replay.h"
#include "tuner/verdict/possible.h"

namespace {

using namespace ocrtune;

struct Flags {
  std::vector<std::string> kinds = {"formula", "queue"};
  std::vector<std::string> strategies = {"ours", "coordinate"};
  std::vector<int> trials = {15, 25, 40, 60};
  std::vector<std::string> tables;
  std::string write_tables;
  int machines = 20;
  int first = 0;
  int seeds = 1;
  double roughness = 1;
  double noise = 1;
  double margin = 0;
  double drift = 1;
  double outliers = 1;
  bool small = false;
  bool no_faults = false;
  bool list = false;
  bool trace = false;
  bool latency = false;
  std::string warm;
};

struct Subject {
  std::string name;
  SyntheticMachine machine;
  std::vector<Knobs> hints;
};

struct Scores {
  std::vector<double> regrets, tried, errors, surprises, certified, gaps, claims, seconds,
      out_of_memory, guarded_stops, trials_a_point;
};

constexpr int kEarlierTrials = 40;

// What a run found before: with another model on the same machine, or on a machine that has nothing
// in common with this one.
std::vector<Knobs> earlier_hints(const Flags& flags, SyntheticRequest request) {
  if (flags.warm == "model") {
    request.other_model = true;
  } else {
    request.seed += 500000;
  }
  const SyntheticMachine machine = make_synthetic_machine(request);
  ReplayOptions options;
  options.trials = kEarlierTrials;
  options.seed = request.seed;
  options.faults = machine.faults;
  const auto score = replay(machine.table, options);
  return score ? hints_of(score->result) : std::vector<Knobs>();
}

std::vector<Subject> subjects(const Flags& flags) {
  std::vector<Subject> found;
  for (const std::string& path : flags.tables) {
    auto table = read_table(path);
    if (!table) {
      std::fprintf(stderr, "%s\n", table.error().what.c_str());
      std::exit(3);
    }
    found.push_back({path, {*table, {}, 0}, {}});
  }
  if (!flags.tables.empty()) return found;
  for (const std::string& kind : flags.kinds) {
    for (int i = flags.first; i < flags.first + flags.machines; ++i) {
      SyntheticRequest request{kind, static_cast<std::uint64_t>(i) + 1, flags.roughness,
                               flags.noise, flags.small};
      found.push_back({fmt::format("{}-{}", kind, i), make_synthetic_machine(request), {}});
      if (flags.no_faults) found.back().machine.faults = {};
      found.back().machine.faults.drift *= flags.drift;
      found.back().machine.faults.outlier_share *= flags.outliers;
      if (!flags.warm.empty()) found.back().hints = earlier_hints(flags, request);
    }
  }
  return found;
}

void score_one(const Flags& flags, const Subject& subject, const StrategyRow& strategy, int trials,
               Scores& scores) {
  for (int seed = 1; seed <= flags.seeds; ++seed) {
    ReplayOptions options;
    options.make = strategy.make;
    options.trials =
        trials > 0 ? trials
                   : static_cast<int>(2.5 * static_cast<double>(subject.machine.table.rows.size()));
    // Another noise on every machine, else one unlucky draw meets them all at the same trial.
    options.seed =
        std::hash<std::string>()(subject.name) % 1000000 + static_cast<std::uint64_t>(seed);
    options.margin = flags.margin;
    options.faults = subject.machine.faults;
    options.hints = subject.hints;
    const auto start = std::chrono::steady_clock::now();
    const auto score = replay(subject.machine.table, options);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!score) {
      std::fprintf(stderr, "%s: %s\n", subject.name.c_str(), score.error().what.c_str());
      continue;
    }
    scores.regrets.push_back(score->regret);
    // The words round the gap up to whole per cents; regret is a share of the best.
    const double gap = score->result.certified_gap;
    const double rounded = 0.01 * percent_of_gain(gap);
    const double stated = rounded / (1 + rounded);
    if (gap >= 0) scores.certified.push_back(score->regret <= stated + 1e-9 ? 1.0 : 0.0);
    if (gap >= 0) scores.gaps.push_back(stated);
    scores.errors.push_back(score->forecast_error);
    scores.surprises.push_back(score->forecast_surprise);
    scores.tried.push_back(score->tried_regret);
    scores.out_of_memory.push_back(score->out_of_memory_trials);
    scores.guarded_stops.push_back(score->guarded_stops);
    scores.seconds.push_back(seconds / std::max(1, score->trials));
    scores.trials_a_point.push_back(score->trials /
                                    static_cast<double>(subject.machine.table.rows.size()));
    if (score->found) {
      scores.claims.push_back(score->claimed_samples_per_second / score->true_samples_per_second -
                              1);
    }
    if (flags.list) {
      const Interval& worth = score->result.recommendation.samples_per_second;
      std::printf(
          "  %-12s %-10s %3d regret %5.1f (%4.1f) %% claim %+6.2f %% +- %4.2f gap %3.0f %% oom %d "
          "cap %d noise %.1f %% drift %.1f %% runs %d: (noise taken for %.1f %%) "
          "%s "
          "[%s]\n",
          subject.name.c_str(), strategy.name.c_str(), trials, 100 * score->regret,
          100 * score->tried_regret, score->found ? 100 * scores.claims.back() : 0.0,
          score->found ? 50 * std::log(worth.high / worth.low) : 0.0,
          gap >= 0 ? 100 * stated : -1.0, score->out_of_memory_trials, subject.machine.process_cap,
          100 * subject.machine.table.best()->noise_sigma, 100 * subject.machine.faults.drift,
          static_cast<int>(
              std::count_if(score->run.begin(), score->run.end(),
                            [&](const Trial& trial) { return trial.knobs == score->knobs; })),
          100 * score->result.noise, knobs_text(score->knobs).c_str(),
          score->result.stop_reason.c_str());
      for (const Trial& trial : score->run) {
        if (!flags.trace) break;
        std::printf("        %-8s %8.3f %5.2f GB %-8s %s\n", trial.phase.c_str(),
                    trial.samples_per_second / subject.machine.table.best()->samples_per_second,
                    static_cast<double>(trial.peak_bytes) / 1e9,
                    std::string(outcome_name(trial.outcome)).c_str(),
                    knobs_text(trial.knobs).c_str());
      }
      const TableRow* best = subject.machine.table.best();
      std::printf("      best %s cores %g\n", knobs_text(best->knobs).c_str(),
                  subject.machine.table.cores);
    }
  }
}

void print_row(const std::string& strategy, int trials, const Scores& scores) {
  const auto share = [](const std::vector<double>& values, auto holds) {
    const auto count = std::count_if(values.begin(), values.end(), holds);
    return values.empty() ? 0.0
                          : 100.0 * static_cast<double>(count) / static_cast<double>(values.size());
  };
  std::vector<double> over = scores.claims;
  std::printf(
      "| %s | %d | %.1f | %.1f | %.1f | %.0f %% | %.1f / %.1f | %.0f %% | %.2f | %.0f | %.2f | "
      "%.0f %% | %+.1f %% | "
      "%.0f/%.1f | %.0f %% of %.0f | %.0f %% | %.1f |\n",
      strategy.c_str(), trials, 100 * mean(scores.regrets), 100 * median(scores.regrets),
      100 * quantile(scores.regrets, 0.9),
      share(scores.regrets, [](double regret) { return regret > 0.1; }), 100 * median(scores.tried),
      100 * quantile(scores.tried, 0.9),
      share(scores.regrets, [](double regret) { return regret <= 0.05; }),
      mean(scores.out_of_memory), quantile(scores.out_of_memory, 1), mean(scores.guarded_stops),
      share(scores.claims, [](double claim) { return std::fabs(claim) <= 0.02; }),
      100 * median(over), 100 * median(scores.errors), median(scores.surprises),
      100 * mean(scores.certified),
      100.0 * static_cast<double>(scores.certified.size()) /
          std::max(1.0, static_cast<double>(scores.regrets.size())),
      100 * median(scores.gaps), 1000 * mean(scores.seconds));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Scores search strategies on simulated machines", "search_bench");
  app.add_option("--kinds", flags.kinds)->delimiter(',');
  std::vector<std::string> known;
  for (const StrategyRow& row : strategy_table()) known.push_back(row.name);
  app.add_option("--strategies", flags.strategies)->delimiter(',')->check(CLI::IsMember(known));
  app.add_option("--trials", flags.trials, "0: 2.5 for each point")->delimiter(',');
  app.add_option("--tables", flags.tables, "recorded tables in place of simulated machines");
  app.add_option("--write-tables", flags.write_tables);
  app.add_option("--machines", flags.machines, "of each kind");
  app.add_option("--first", flags.first);
  app.add_option("--seeds", flags.seeds);
  app.add_option("--roughness", flags.roughness);
  app.add_option("--noise", flags.noise);
  app.add_option("--margin", flags.margin);
  app.add_option("--drift", flags.drift, "multiplies the machines' drift");
  app.add_option("--outliers", flags.outliers, "multiplies the share of slowed trials");
  app.add_flag("--small", flags.small);
  app.add_flag("--no-faults", flags.no_faults);
  app.add_flag("--list", flags.list, "a line for every search");
  app.add_flag("--trace", flags.trace, "with --list: every trial");
  app.add_option(
      "--warm", flags.warm,
      "start from an earlier run: model (another one on this machine) | machine (another)");
  app.add_flag("--latency", flags.latency, "CPU time of single proposals; the last of --trials");
  CLI11_PARSE(app, argc, argv);
  const std::vector<Subject> machines = subjects(flags);
  if (!flags.write_tables.empty()) {
    for (const Subject& subject : machines) {
      const std::string path = join_path(flags.write_tables, subject.name + ".csv");
      const Status written = write_file(path, table_csv(subject.machine.table));
      if (!written) std::fprintf(stderr, "%s\n", written.error().what.c_str());
    }
    return 0;
  }
  if (flags.latency) {
    std::vector<SyntheticMachine> timed;
    for (const Subject& subject : machines) timed.push_back(subject.machine);
    print_latency(timed, flags.trials.back());
    return 0;
  }
  double points = 0;
  for (const Subject& subject : machines) {
    points += static_cast<double>(subject.machine.table.rows.size());
  }
  std::printf("%zu machines, %.0f points on average\n\n", machines.size(),
              points / static_cast<double>(machines.size()));
  std::printf(
      "| strategy | trials | regret mean %% | med %% | p90 %% | over 10 %% | of the tried | within "
      "5 "
      "%% | OOM mean | max | guarded | claim "
      "within 2 %% | over-claim | err/z | certified | gap | ms/trial "
      "|\n|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|\n");
  for (const StrategyRow& strategy : strategy_table()) {
    const auto& wanted = flags.strategies;
    if (std::find(wanted.begin(), wanted.end(), strategy.name) == wanted.end()) continue;
    for (int trials : flags.trials) {
      Scores scores;
      for (const Subject& subject : machines) score_one(flags, subject, strategy, trials, scores);
      print_row(strategy.name, trials, scores);
    }
  }
  return 0;
}
