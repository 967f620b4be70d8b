// The search as a whole, on simulated machines: a short version of bench/search.
#include "tuner/session/replay.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "base/stats.h"
#include "bench/synthetic/synthetic_machine.h"

namespace ocrtune {
namespace {

ReplayScore play(const SyntheticMachine& machine, int trials) {
  ReplayOptions options;
  options.trials = trials;
  options.faults = machine.faults;
  auto score = replay(machine.table, options);
  EXPECT_TRUE(score.ok());
  return score ? *score : ReplayScore{};
}

TEST(Replay, LargeSpacesIn25Trials) {
  std::vector<double> regrets;
  int out_of_memory = 0;
  for (const std::string& kind : {std::string("formula"), std::string("queue")}) {
    for (std::uint64_t seed : {2, 8, 14}) {
      const SyntheticMachine machine = make_synthetic_machine({kind, seed, 1, 1, false});
      ASSERT_GT(machine.table.rows.size(), 4000U);
      const ReplayScore score = play(machine, 25);
      ASSERT_TRUE(score.found);
      EXPECT_LE(score.trials, 25);
      regrets.push_back(score.regret);
      out_of_memory += score.out_of_memory_trials;
    }
  }
  EXPECT_LE(median(regrets), 0.04);
  EXPECT_LE(*std::max_element(regrets.begin(), regrets.end()), 0.35);
  EXPECT_LE(out_of_memory, 3);
}

// Two words that are bad apart and best together.
TEST(Replay, FindsAPairOfWords) {
  std::string csv = "nproc,batch,backend,fuse,samples_per_second,peak_bytes,outcome,noise_sigma\n";
  for (int nproc : {1, 2, 3, 4, 6, 8}) {
    for (int batch : {8, 16, 32, 64, 128}) {
      for (const std::string backend : {"ndarray", "candle", "torch"}) {
        for (const bool fuse : {true, false}) {
          double rate = backend == "ndarray" ? 6 : backend == "candle" ? 12 : 20;
          if (fuse && backend == "candle") rate *= 2.6;
          if (fuse && backend == "torch") rate *= 0.5;
          rate *= nproc / (1 + 0.02 * nproc * nproc) * batch / (batch + 16);
          csv += std::to_string(nproc) + "," + std::to_string(batch) + "," + backend + "," +
                 (fuse ? "on," : "off,") + std::to_string(rate) + ",1000000000,ok,0.04\n";
        }
      }
    }
  }
  const auto table = parse_table("# cores=8 memory_bytes=32000000000\n" + csv, "pairs.csv");
  ASSERT_TRUE(table.ok());
  EXPECT_LE(play({*table, {}, 0}, 40).regret, 0.05);
}

// A user's switch of 0 and 1 is a number, and its 1 is not infinitely heavier than its 0.
TEST(Replay, TriesTheOtherValueOfASwitch) {
  std::string csv = "nproc,threads,SPIN,samples_per_second,peak_bytes,outcome,noise_sigma\n";
  for (int nproc : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
    for (int threads : {1, 2, 3, 4, 5, 6, 7, 8}) {
      for (int spin : {0, 1}) {
        const double rate = nproc * (1 + 0.1 * threads) * (spin == 1 ? 1.2 : 1.0);
        csv += std::to_string(nproc) + "," + std::to_string(threads) + "," + std::to_string(spin) +
               "," + std::to_string(rate) + "," + std::to_string(nproc) + "000000000,ok,0.02\n";
      }
    }
  }
  const auto table = parse_table("# cores=80 memory_bytes=16000000000\n" + csv, "switch.csv");
  ASSERT_TRUE(table.ok());
  const ReplayScore score = play({*table, {}, 0}, 40);
  EXPECT_LE(score.regret, 0.05);
  EXPECT_EQ(score.knobs.dims.at("SPIN"), "1");
}

// Threads bring nothing until loaders keep them fed, and with them the most: no trial near the
// leader tells, and the budget pays for a look elsewhere.
TEST(Replay, FindsWhatOnlyThreadsAndLoadersDoTogether) {
  for (const std::uint64_t seed : {9041U, 9154U}) {
    const SyntheticMachine machine = make_synthetic_machine({"mechanism", seed, 1, 1, false});
    const ReplayScore score = play(machine, 60);
    ASSERT_TRUE(score.found);
    EXPECT_LE(score.regret, 0.1) << seed;
  }
}

// In tight memory the loaders are the limit: each has to wait for the memory that processes hold.
TEST(Replay, FewerProcessesMakeRoomForLoaders) {
  for (const std::uint64_t seed : {21080U, 21081U}) {
    const SyntheticMachine machine = make_synthetic_machine({"mechanism", seed, 1, 1, false});
    const ReplayScore score = play(machine, 60);
    ASSERT_TRUE(score.found);
    EXPECT_LE(score.regret, 0.1) << seed;
  }
}

// What the certificate leaves open is what the search goes on with.
TEST(Replay, EndsByItsOwnRuleOnlyWithANarrowCertificate) {
  int by_rule = 0;
  for (const char* kind : {"mechanism", "queue"}) {
    for (std::uint64_t seed = 21005; seed < 21013; ++seed) {
      const SyntheticMachine machine = make_synthetic_machine({kind, seed, 1, 1, kind[0] == 'q'});
      if (machine.table.best() == nullptr) continue;
      const ReplayScore score = play(machine, 60);
      if (score.trials == 60) continue;
      ++by_rule;
      EXPECT_GE(score.result.certified_gap, 0) << kind << seed;
      EXPECT_LE(score.result.certified_gap, kMaxOpenGain) << kind << seed;
    }
  }
  EXPECT_GE(by_rule, 3);
}

// A claim that rests on one moment of a machine that drifts is wrong with it.
TEST(Replay, TheWinnerRunsAtManyMoments) {
  const SyntheticMachine machine = make_synthetic_machine({"queue", 8, 1, 2, false});
  const ReplayScore score = play(machine, 60);
  ASSERT_TRUE(score.found);
  std::vector<std::size_t> before_the_race;
  for (std::size_t i = 0; i < score.run.size(); ++i) {
    const Trial& trial = score.run[i];
    if (trial.knobs == score.knobs && trial.phase != "race") before_the_race.push_back(i);
  }
  ASSERT_GE(before_the_race.size(), 4U);
  EXPECT_GE(before_the_race.back() - before_the_race.front(), 10U);
}

// What is not launched for want of knowledge of its memory may be the best: the certificate counts
// it.
TEST(Replay, TheCertificateCountsWhatWasNotAdmittedYet) {
  int decided = 0;  // certificates that such a setting widens
  for (std::uint64_t seed = 301; seed < 307; ++seed) {
    const SyntheticMachine machine = make_synthetic_machine({"queue", seed, 1, 1, false});
    const ReplayScore score = play(machine, 12);
    if (score.result.certified_gap < 0) continue;  // no certificate
    const double bound = (1 + score.result.certified_gap) * score.claimed_samples_per_second;
    double admitted = 0, other = 0;  // the highest that the model thinks possible
    for (const PredictedSetting& setting : score.result.predicted) {
      const bool may_fit = setting.peak_bytes <= machine.table.memory_bytes &&
                           setting.reason.is(ReasonCode::predicted_peak);
      if (!setting.admitted && !may_fit) continue;
      double& most = setting.admitted ? admitted : other;
      most = std::max(most, setting.samples_per_second.high);
    }
    EXPECT_LE(std::max(admitted, other), bound * (1 + 1e-9)) << seed;
    decided += other > 1.05 * admitted ? 1 : 0;
  }
  EXPECT_GE(decided, 1);
}

// "Within 96 % of the best" and "up to 2366 % faster" say nothing.
TEST(Replay, AFewTrialsGiveNoCertificate) {
  const SyntheticMachine machine = make_synthetic_machine({"queue", 5, 1, 1, false});
  const ReplayScore score = play(machine, 5);
  ASSERT_TRUE(score.found);
  EXPECT_LT(score.result.certified_gap, 0);
  EXPECT_EQ(score.result.certificate.code, ReasonCode::best_of_run);
  EXPECT_NE(score.result.advice.code, ReasonCode::next_best);
  EXPECT_NE(score.result.advice.code, ReasonCode::not_conclusive);
}

TEST(Replay, SmallSpacesByTrialsPerPoint) {
  for (std::uint64_t seed : {1, 2, 3, 4}) {
    const SyntheticMachine machine = make_synthetic_machine({"queue", seed, 1, 1, true});
    const auto points = static_cast<double>(machine.table.rows.size());
    ASSERT_LE(points, 150);
    const ReplayScore score = play(machine, static_cast<int>(2.5 * points));
    EXPECT_LE(score.trials, 2.5 * points);
    EXPECT_LE(score.regret, 0.05) << seed;
  }
}

TEST(Replay, FewTrialsAreEnoughForAnAnswer) {
  const SyntheticMachine machine = make_synthetic_machine({"field", 3, 1, 1, false});
  for (int trials : {1, 2, 5}) {
    const ReplayScore score = play(machine, trials);
    EXPECT_LE(score.trials, trials);
    EXPECT_GE(score.trials, 1);
  }
  EXPECT_TRUE(play(machine, 1).found);
}

TEST(Replay, AnySubsetOfColumnsIsASpace) {
  SyntheticMachine machine = make_synthetic_machine({"formula", 5, 1, 1, false});
  RecordedTable& table = machine.table;
  table.cores = 0;
  std::erase_if(table.rows, [](const TableRow& row) {
    return row.knobs.threads != 2 || row.knobs.precision != "fp32" || row.knobs.workers != 1;
  });
  for (TableRow& row : table.rows) {  // processes under a name of the user's own
    row.knobs.dims["ranks"] = std::to_string(row.knobs.nproc);
    row.knobs.dims["mode"] = row.knobs.binding;
    row.knobs.nproc = row.knobs.threads = 1;
    row.knobs.binding = "none";
  }
  ASSERT_GT(table.rows.size(), 20U);
  const ReplayScore score = play(machine, 60);
  EXPECT_TRUE(score.found);
  EXPECT_LE(score.regret, 0.1);
}

TEST(Replay, TenThousandToldTrialsAreJudged) {
  const SyntheticMachine machine = make_synthetic_machine({"formula", 4, 1, 1, false});
  const Space space = space_of(machine.table);
  SearchOptions options;
  options.safety.limit_bytes = machine.table.memory_bytes;
  const auto search = make_search(space, options);
  std::vector<Trial> trials;
  CountingClock clock;
  TableRunner runner(machine.table, clock, 1);
  for (int i = 0; i < 10000; ++i) {
    trials.push_back(runner.run(space.knobs(i % 2500), {}));
    search->tell(trials.back());
  }
  RecommendOptions recommend_options;
  const TuneResult result = recommend(space, *search, trials, recommend_options);
  EXPECT_TRUE(result.found);
  EXPECT_EQ(result.trials, 10000);
}

// Two processes on each of two GPUs take what two take on one: the search may try the eight.
TEST(Replay, ProcessesTakeTurnsOnTheGpusOfATable) {
  std::string csv =
      "# cores=8 memory_bytes=4000000000 gpus=2\n"
      "nproc,batch,samples_per_second,peak_bytes,outcome,noise_sigma\n";
  for (const int nproc : {1, 2, 4, 8}) {
    csv += std::to_string(nproc) + ",8," + std::to_string(100 * nproc) + "," +
           std::to_string((nproc + 1) / 2 * 900) + "000000,ok,0\n";
  }
  const auto table = parse_table(csv, "t");
  ASSERT_TRUE(table) << table.error().what;
  EXPECT_EQ(table->gpus, 2);
  EXPECT_EQ(parse_table(table_csv(*table), "again")->gpus, 2);
  EXPECT_EQ(replay_search(*table, {}).safety.memory.memories, 2);
  ReplayOptions options;
  options.trials = 8;
  const auto score = replay(*table, options);
  ASSERT_TRUE(score) << score.error().what;
  EXPECT_EQ(score->knobs.nproc, 8);
  EXPECT_FALSE(parse_table("# gpus=0\n" + csv.substr(csv.find('\n') + 1), "t"));
}

TEST(Replay, RefusesWhatCannotBeScored) {
  RecordedTable table;
  EXPECT_FALSE(replay(table, {}).ok());
}

TEST(SyntheticMachine, SameSeedSameMachine) {
  for (const std::string& kind : synthetic_kinds()) {
    const auto one = make_synthetic_machine({kind, 9, 1, 1, true});
    const auto two = make_synthetic_machine({kind, 9, 1, 1, true});
    EXPECT_EQ(table_csv(one.table), table_csv(two.table));
    const auto other = make_synthetic_machine({kind, 10, 1, 1, true});
    EXPECT_NE(table_csv(one.table), table_csv(other.table));
    const auto parsed = parse_table(table_csv(one.table), kind);
    ASSERT_TRUE(parsed.ok()) << parsed.error().what;
    EXPECT_EQ(parsed->rows.size(), one.table.rows.size());
  }
}

}  // namespace
}  // namespace ocrtune
