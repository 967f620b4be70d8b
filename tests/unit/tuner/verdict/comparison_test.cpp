#include "tuner/verdict/comparison.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/random.h"
#include "tests/support/sample_jobs.h"
#include "tests/support/sample_windows.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

Knobs setting_of(int nproc) {
  Knobs knobs;
  knobs.nproc = nproc;
  knobs.threads = 1;
  knobs.batch = 16;
  return knobs;
}

// `count` trials that spread by 1 % around `rate`, with three valid windows each.
void add(RunRecord& run, const Knobs& knobs, double rate, int count) {
  for (int i = 0; i < count; ++i) {
    Trial trial;
    trial.id = static_cast<int>(run.trials.size()) + 1;
    trial.knobs = knobs;
    trial.outcome = Outcome::ok;
    trial.samples_per_second = rate * (1 + 0.005 * (i % 5 - 2));
    for (int j = 0; j < 3; ++j) {
      trial.samples.push_back(window_of(trial.samples_per_second * (1 + 0.002 * (j - 1))));
    }
    run.trials.push_back(trial);
  }
}

RunRecord run_of(const char* id, double rate) {
  RunRecord run;
  run.id = id;
  run.machine.fingerprint = "f";
  run.machine.host = "node";
  run.result.found = true;
  run.result.recommendation.knobs = setting_of(2);
  run.result.recommendation.samples_per_second = {rate, 0.99 * rate, 1.01 * rate};
  return run;
}

const SettingChange* change_of(const RunComparison& comparison, const Knobs& knobs) {
  for (const SettingChange& change : comparison.settings) {
    if (change.knobs == knobs) return &change;
  }
  return nullptr;
}

TEST(Comparison, TellsFasterFromSlowerFromAlike) {
  RunRecord before = run_of("a", 100), after = run_of("b", 110);
  add(before, setting_of(1), 50, 8);
  add(after, setting_of(1), 40, 8);
  add(before, setting_of(2), 100, 8);
  add(after, setting_of(2), 110, 8);
  add(before, setting_of(4), 80, 8);
  add(after, setting_of(4), 80.4, 8);
  const RunComparison found = compare_runs(before, after);
  ASSERT_EQ(found.settings.size(), 3u);
  EXPECT_EQ(found.settings[0].knobs, setting_of(1)) << "the most changed first";
  EXPECT_EQ(change_of(found, setting_of(1))->change, Change::slower);
  EXPECT_EQ(change_of(found, setting_of(2))->change, Change::faster);
  EXPECT_EQ(change_of(found, setting_of(4))->change, Change::alike);
  EXPECT_NEAR(change_of(found, setting_of(1))->ratio.median, 0.8, 0.01);
  EXPECT_LT(change_of(found, setting_of(1))->p, 0.05);
  EXPECT_TRUE(change_of(found, setting_of(1))->from_trials);
  EXPECT_EQ(found.verdict[0].code, ReasonCode::compared_faster);
  EXPECT_NEAR(found.verdict[0].number(0), 10, 0.05);
  EXPECT_EQ(found.verdict[1],
            reason<ReasonCode::compared_settings>(counted(3), counted(1), counted(1)));
  EXPECT_TRUE(found.same_machine);
  EXPECT_TRUE(found.differences.empty());
}

TEST(Comparison, FewTrialsDecideNothing) {
  RunRecord before = run_of("a", 100), after = run_of("b", 100);
  add(before, setting_of(1), 50, 2);
  add(after, setting_of(1), 60, 2);
  const RunComparison found = compare_runs(before, after);
  ASSERT_EQ(found.settings.size(), 1u);
  EXPECT_FALSE(found.settings[0].from_trials);
  EXPECT_EQ(found.settings[0].change, Change::undecided);
}

TEST(Comparison, AlikeIsWhatSurelyChangedLittle) {
  const auto change = [](int trials, double noise) {
    RunRecord before = run_of("a", 100), after = run_of("b", 100);
    for (int i = 0; i < trials; ++i) {
      const double off = noise * (i % 2 == 0 ? 1 : -1);
      add(before, setting_of(1), 50 * (1 + off), 1);
      add(after, setting_of(1), 50 * (1 - off), 1);
    }
    return compare_runs(before, after).settings.at(0).change;
  };
  EXPECT_EQ(change(8, 0.002), Change::alike);
  EXPECT_EQ(change(8, 0.1), Change::undecided) << "it may be 5 % faster";
  EXPECT_EQ(change(2, 0.002), Change::undecided) << "too few trials";
}

TEST(Comparison, OverOneSettingTheRatioIsAsSureAsThatOne) {
  RunRecord before = run_of("a", 100), after = run_of("b", 100);
  add(before, setting_of(1), 50, 8);
  add(after, setting_of(1), 60, 8);
  const RunComparison found = compare_runs(before, after);
  const Interval& one = found.settings.at(0).ratio;
  EXPECT_NEAR(found.overall_ratio.median, one.median, 1e-9);
  EXPECT_NEAR(found.overall_ratio.low, one.low, 0.3 * (one.median - one.low));
  EXPECT_NEAR(found.overall_ratio.high, one.high, 0.3 * (one.high - one.median));
}

TEST(Comparison, ALargeChangeOfOneTrialIsUndecided) {
  RunRecord before = run_of("a", 100), after = run_of("b", 100);
  add(before, setting_of(1), 50, 1);  // three samples: too few to stand for trials
  add(after, setting_of(1), 60, 1);
  const RunComparison found = compare_runs(before, after);
  ASSERT_EQ(found.settings.size(), 1u);
  EXPECT_EQ(found.settings[0].change, Change::undecided);
}

TEST(Comparison, ManySettingsDoNotMakeChanceSignificant) {
  RunRecord before = run_of("a", 100), after = run_of("b", 100);
  for (int nproc = 1; nproc <= 40; ++nproc) {
    add(before, setting_of(nproc), 100 + nproc, 5);
    add(after, setting_of(nproc), 100 + nproc, 5);
  }
  for (const SettingChange& change : compare_runs(before, after).settings) {
    EXPECT_EQ(change.change, Change::alike);
    EXPECT_GT(change.p, 0.5);
  }
}

// The same machine twice: trials scatter, windows within a trial hardly do.
TEST(Comparison, UnchangedSettingsAreSeldomCalledChanged) {
  constexpr int kComparisons = 100, kSettings = 20;
  for (const int trials : {2, 4, 6}) {
    Random random(static_cast<std::uint64_t>(trials));
    int called = 0, with_calls = 0;
    for (int i = 0; i < kComparisons; ++i) {
      RunRecord runs[] = {run_of("a", 100), run_of("b", 100)};
      for (RunRecord& run : runs) {
        for (int nproc = 1; nproc <= kSettings; ++nproc) {
          for (int t = 0; t < trials; ++t) {
            add(run, setting_of(nproc), 100 * std::exp(0.03 * random.normal()), 1);
          }
        }
      }
      int here = 0;
      for (const SettingChange& change : compare_runs(runs[0], runs[1]).settings) {
        here += change.change == Change::faster || change.change == Change::slower ? 1 : 0;
      }
      called += here;
      with_calls += here > 0 ? 1 : 0;
    }
    EXPECT_LE(called, 0.05 * kComparisons * kSettings) << trials;
    EXPECT_LE(with_calls, 0.07 * kComparisons) << trials;
  }
}

TEST(Comparison, TrainingIsNotComparedWithInference) {
  RunRecord before = run_of("a", 100), after = run_of("b", 100);
  EXPECT_TRUE(comparable(before, after));
  after.job = reading_job();
  const Status refused = comparable(before, after);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_THAT(refused.error().what, HasSubstr("training"));
}

TEST(Comparison, ProgramsAreToldApartByTheirScripts) {
  const auto of = [](std::vector<std::string> command, const char* log_reader = "torch") {
    RunRecord run = run_of("a", 100);
    run.job = command_job(std::move(command), "", log_reader);
    return run;
  };
  const RunRecord run = of({"python3", "train.py", "--batch", "{batch}"});
  EXPECT_TRUE(comparable(run, of({"/opt/venv/bin/python", "/data/train.py", "--batch=8"})));
  EXPECT_TRUE(comparable(run, of({"torchrun", "--nproc", "{nproc}", "train.py"})));
  const Status other = comparable(run, of({"python3", "read_pages.py"}));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::usage);
  EXPECT_THAT(other.error().what, HasSubstr("train.py"));
  EXPECT_THAT(other.error().what, HasSubstr("read_pages.py"));
  const Status unit = comparable(run, of({"python3", "train.py"}, "runs"));
  ASSERT_FALSE(unit);
  EXPECT_THAT(unit.error().what, HasSubstr("runs/s"));
  EXPECT_FALSE(comparable(run, run_of("b", 100))) << "the built-in engine";
  EXPECT_FALSE(comparable(of({"python3", "-m", "train"}), of({"python3", "-m", "read"})));
}

TEST(Comparison, DataAreComparedByContent) {
  const std::string folder = *make_temporary_directory("comparison");
  ASSERT_TRUE(write_file(folder + "/a.txt", "x.png\tx\n"));
  ASSERT_TRUE(write_file(folder + "/copy.txt", "x.png\tx\n"));
  ASSERT_TRUE(write_file(folder + "/other.txt", "y.png\ty\n"));
  RunRecord before = run_of("a", 100), after = run_of("b", 100);
  before.job = training_job(folder + "/a.txt");
  after.job = training_job(folder + "/copy.txt");
  EXPECT_TRUE(compare_runs(before, after).differences.empty());
  after.job = training_job(folder + "/other.txt");
  const auto differences = compare_runs(before, after).differences;
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].what, "data");
  EXPECT_TRUE(remove_tree(folder));
}

TEST(Comparison, NamesWhatDiffers) {
  RunRecord before = run_of("a", 100), after = run_of("b", 100);
  before.versions["oneDNN"] = "2.6.0";
  after.versions["oneDNN"] = "2.6.3";
  after.machine.fingerprint = "g";
  after.machine.memory.limit_bytes = {64e9, "MemTotal"};
  const RunComparison found = compare_runs(before, after);
  EXPECT_FALSE(found.same_machine);
  ASSERT_EQ(found.differences.size(), 2u);
  EXPECT_EQ(found.differences[0].what, "memory limit");
  EXPECT_EQ(found.differences[0].before, "unknown");
  EXPECT_EQ(found.differences[1].after, "2.6.3");
  EXPECT_EQ(found.verdict.back().code, ReasonCode::machines_differ);
}

TEST(Comparison, LoadThatWentAwayIsNoFasterProgram) {
  RunRecord before = run_of("a", 70), after = run_of("b", 100);
  EXPECT_EQ(compare_runs(before, after).verdict[0].code, ReasonCode::compared_faster);
  before.result.verdict.beside_load = true;
  EXPECT_EQ(compare_runs(before, after).best_ratio.median, 0);
  before.result.verdict.beside_load = false;
  after.result.inconclusive = reason<ReasonCode::no_quiet_window>(counted(9));
  EXPECT_EQ(compare_runs(before, after).best_ratio.median, 0);
  after.result.inconclusive = {};
  after.result.objective = "memory";
  EXPECT_EQ(compare_runs(before, after).best_ratio.median, 0);
}

TEST(Comparison, StandsWithoutTrialsAndWithoutAnAnswer) {
  const RunComparison none = compare_runs(RunRecord(), RunRecord());
  EXPECT_TRUE(none.settings.empty());
  EXPECT_FALSE(none.same_machine) << "no fingerprint is no proof of the same machine";
  EXPECT_EQ(none.verdict[0].code, ReasonCode::compared_without_recommendation);
  RunRecord before = run_of("a", 100);
  add(before, setting_of(1), 50, 4);
  EXPECT_TRUE(compare_runs(before, run_of("b", 100)).settings.empty());
}

}  // namespace
}  // namespace ocrtune
