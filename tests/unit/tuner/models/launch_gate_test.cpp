#include "tuner/models/launch_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trial/answers/same_gate.h"
#include "tuner/models/memory_model.h"

namespace ocrtune {
namespace {

double peak(const Knobs& knobs) {
  const double sample = knobs.precision == "bf16" ? 3e6 : 5e6;
  return 1e8 + knobs.nproc * (3e8 + sample * knobs.batch + 5e7 * knobs.workers);
}

Space grid() {
  std::vector<Knobs> points;
  for (int n : {1, 2, 4, 8, 16, 32}) {
    for (int b : {4, 8, 16, 32, 64}) {
      for (int w : {0, 1, 4}) {
        for (const char* precision : {"fp32", "bf16"}) {
          Knobs knobs;
          knobs.nproc = n;
          knobs.batch = b;
          knobs.workers = w;
          knobs.precision = precision;
          points.push_back(knobs);
        }
      }
    }
  }
  return Space(points);
}

int point(const Space& space, int n, int b, int w, const char* precision = "fp32") {
  Knobs knobs;
  knobs.nproc = n;
  knobs.batch = b;
  knobs.workers = w;
  knobs.precision = precision;
  return space.find(knobs);
}

Trial trial(const Space& space, int at, Outcome outcome = Outcome::ok) {
  Trial trial;
  trial.knobs = space.knobs(at);
  trial.outcome = outcome;
  if (outcome == Outcome::ok) {
    trial.samples_per_second = 1;
    trial.peak_bytes = static_cast<std::uint64_t>(peak(trial.knobs));
  }
  return trial;
}

// A command's GPU that is full says nothing of the machine's memory, and nothing that a number of
// processes would change.
TEST(LaunchGate, AFullGpuRulesOutLargerBatchesAlone) {
  const Space space = grid();
  LaunchGateOptions options;
  options.limit_bytes = 64000000000;
  LaunchGate safety(space, options);
  safety.tell(point(space, 1, 4, 0), trial(space, point(space, 1, 4, 0)));
  safety.tell(point(space, 2, 16, 0), trial(space, point(space, 2, 16, 0)));
  const double usable = safety.usable_bytes();
  Trial full = trial(space, point(space, 4, 32, 0), Outcome::out_of_memory);
  full.cause = "gpu_out_of_memory";
  safety.tell(point(space, 4, 32, 0), full);
  EXPECT_EQ(safety.usable_bytes(), usable);
  EXPECT_FALSE(safety.admit(point(space, 4, 32, 0)).admitted);
  EXPECT_FALSE(safety.admit(point(space, 1, 32, 4)).admitted);
  EXPECT_FALSE(safety.admit(point(space, 1, 64, 0)).admitted);
  EXPECT_EQ(safety.admit(point(space, 1, 64, 0)).reason.nested(1).code,
            ReasonCode::ran_out_of_gpu_memory);
  EXPECT_TRUE(safety.admit(point(space, 8, 16, 1)).admitted)
      << row_of(safety.admit(point(space, 8, 16, 1)).reason.code).name;
  EXPECT_TRUE(safety.admit(point(space, 1, 32, 0, "bf16")).admitted);
}

// Four copies on two GPUs fill them: two, one each, may fit.
TEST(LaunchGate, AGpuThatIsSharedCountsItsProcesses) {
  const Space space = grid();
  const int full = point(space, 4, 32, 0);
  EXPECT_TRUE(dominates_gpu_memory(space, point(space, 8, 32, 0), full, 2));
  EXPECT_TRUE(dominates_gpu_memory(space, point(space, 4, 64, 0), full, 2));
  EXPECT_FALSE(dominates_gpu_memory(space, point(space, 2, 64, 0), full, 2));
  EXPECT_TRUE(dominates_gpu_memory(space, point(space, 2, 64, 0), full)) << "each has its own";
}

TEST(MemoryModel, BoundsHoldFromTheFirstTrialOn) {
  const Space space = grid();
  MemoryModel model(space, nullptr);
  EXPECT_FALSE(model.forecast(0).known);
  for (int seen : {point(space, 1, 4, 0), point(space, 2, 16, 1), point(space, 4, 4, 0, "bf16"),
                   point(space, 8, 32, 4), point(space, 4, 64, 0, "bf16")}) {
    model.observe(seen, peak(space.knobs(seen)));
    for (int at = 0; at < space.size(); ++at) {
      EXPECT_GE(model.forecast(at).high_bytes, 0.98 * peak(space.knobs(at)))
          << knobs_text(space.knobs(at)) << " after " << model.observations();
    }
  }
  const int far = point(space, 32, 64, 1);
  EXPECT_NEAR(model.forecast(far).bytes, peak(space.knobs(far)), 0.15 * peak(space.knobs(far)));
}

// Bounds are kept from one forecast to the next.
TEST(MemoryModel, AForecastInBetweenChangesNoBound) {
  const Space space = grid();
  MemoryModel asked(space, nullptr), silent(space, nullptr);
  const auto both = [&](int seen, double factor) {
    asked.observe(seen, factor * peak(space.knobs(seen)));
    silent.observe(seen, factor * peak(space.knobs(seen)));
    for (int at = 0; at < space.size(); ++at) asked.forecast(at);
  };
  both(point(space, 1, 4, 0), 1);
  both(point(space, 2, 16, 1), 1);
  both(point(space, 1, 4, 0), 1.5);  // a higher peak of the same point raises what rests on it
  for (int at = 0; at < space.size(); ++at) {
    EXPECT_DOUBLE_EQ(asked.forecast(at).high_bytes, silent.forecast(at).high_bytes);
  }
}

TEST(LaunchGate, WhatMayWorkIsToldFromWhatSurelyDoesNot) {
  const Space space = grid();
  const int near = point(space, 8, 16, 0), far = point(space, 32, 64, 4);
  LaunchGateOptions options;
  options.margin = 0;
  options.limit_bytes = static_cast<std::uint64_t>(1.05 * peak(space.knobs(near)));
  LaunchGate safety(space, options);
  for (int seen : {point(space, 1, 4, 0), point(space, 2, 4, 0)}) {
    safety.tell(seen, trial(space, seen));
  }
  EXPECT_FALSE(safety.admit(near).admitted);
  EXPECT_TRUE(safety.admit(near).may_work);
  for (int seen : {point(space, 2, 16, 1), point(space, 4, 8, 1), point(space, 4, 16, 0)}) {
    safety.tell(seen, trial(space, seen));
  }
  EXPECT_FALSE(safety.admit(far).may_work);
  const int failed = point(space, 4, 16, 1);
  safety.tell(failed, trial(space, failed, Outcome::out_of_memory));
  EXPECT_FALSE(safety.admit(failed).may_work);
}

// Six processes on two GPUs put three on each, and that is what the peak is of.
TEST(MemoryModel, ProcessesInTurnOverSeveralMemories) {
  EXPECT_EQ(processes_together(1, 2), 1);
  EXPECT_EQ(processes_together(3, 2), 2);
  EXPECT_EQ(processes_together(4, 2), 2);
  EXPECT_EQ(processes_together(5, 1), 5);
  std::vector<Knobs> points;
  for (int nproc : {1, 2, 3, 4, 6, 8}) {
    Knobs knobs;
    knobs.nproc = nproc;
    knobs.batch = 8;
    points.push_back(knobs);
  }
  const Space space(points);
  MemoryModel model(space, nullptr, 2);
  const auto at = [&](int nproc) {
    for (int point = 0; point < space.size(); ++point) {
      if (space.knobs(point).nproc == nproc) return point;
    }
    return -1;
  };
  model.observe(at(1), 1e9);
  EXPECT_LE(model.forecast(at(2)).high_bytes, 1.01e9) << "each has a GPU for itself";
  EXPECT_GT(model.forecast(at(4)).bytes, 1.2e9) << "two on each";
  EXPECT_LE(model.forecast(at(4)).high_bytes, 2.01e9);
  model.observe(at(4), 1.9e9);
  EXPECT_LE(model.forecast(at(3)).high_bytes, 1.91e9) << "the fuller GPU has two as well";
  EXPECT_NEAR(model.forecast(at(6)).bytes, 2.8e9, 0.3e9);
}

TEST(MemoryModel, APlanIsTrustedAndCorrected) {
  const Space space = grid();
  MemoryModel model(space, [](const Knobs& knobs) { return 0.8 * peak(knobs); });
  const int far = point(space, 16, 64, 1);
  EXPECT_TRUE(model.forecast(far).known);
  EXPECT_GE(model.forecast(far).high_bytes, peak(space.knobs(far)));
  for (int seen : {point(space, 1, 4, 0), point(space, 2, 32, 1)}) {
    model.observe(seen, peak(space.knobs(seen)));
  }
  EXPECT_NEAR(model.forecast(far).bytes, peak(space.knobs(far)), 0.2 * peak(space.knobs(far)));
  model.observe(far, 0);
  EXPECT_EQ(model.observations(), 2) << "a peak of nothing is not an observation";
}

TEST(LaunchGate, RefusesBeforeLaunchWhatWouldNotFit) {
  const Space space = grid();
  LaunchGate safety(space, {8000000000, 0.05, 0, 4, nullptr});
  EXPECT_TRUE(safety.admit(safety.lightest()).admitted);
  EXPECT_FALSE(safety.admit(point(space, 2, 8, 0)).admitted) << "nothing has run yet";
  safety.tell(safety.lightest(), trial(space, safety.lightest()));
  EXPECT_TRUE(safety.admit(point(space, 2, 8, 0)).admitted);
  const Admission refused = safety.admit(point(space, 32, 64, 4));
  EXPECT_FALSE(refused.admitted);
  EXPECT_EQ(refused.reason.code, ReasonCode::predicted_peak);
  EXPECT_NEAR(refused.reason.number(2), 7.1 * (1 << 30), 0.05 * (1 << 30));
}

TEST(LaunchGate, AFailureRulesOutAllThatNeedsMore) {
  const Space space = grid();
  LaunchGate safety(space, {0, 0.05, 0, 1e9, nullptr});
  safety.tell(point(space, 8, 32, 1), trial(space, point(space, 8, 32, 1), Outcome::out_of_memory));
  EXPECT_FALSE(safety.admit(point(space, 8, 32, 1)).admitted);
  EXPECT_FALSE(safety.admit(point(space, 16, 32, 1)).admitted);
  EXPECT_FALSE(safety.admit(point(space, 8, 64, 4)).admitted);
  EXPECT_TRUE(safety.admit(point(space, 8, 16, 1)).admitted);
  EXPECT_TRUE(safety.admit(point(space, 16, 64, 1, "bf16")).admitted) << "other precision";
}

// Threads hold memory of their own: what fails with eight of them may fit with one.
TEST(LaunchGate, AFailureSaysNothingOfFewerThreads) {
  std::vector<Knobs> points;
  for (int threads : {1, 8}) {
    for (int workers : {0, 1, 2}) {
      Knobs knobs;
      knobs.threads = threads;
      knobs.workers = workers;
      points.push_back(knobs);
    }
  }
  const Space space(points);
  const auto at = [&](int threads, int workers) {
    Knobs knobs;
    knobs.threads = threads;
    knobs.workers = workers;
    return space.find(knobs);
  };
  EXPECT_TRUE(dominates_memory(space, at(8, 2), at(8, 1)));
  EXPECT_TRUE(dominates_memory(space, at(8, 1), at(1, 1)));
  EXPECT_FALSE(dominates_memory(space, at(1, 1), at(8, 1)));
}

TEST(LaunchGate, WithoutALimitItGrowsByBoundedSteps) {
  const Space space = grid();
  LaunchGate safety(space, {0, 0.05, 0, 4, nullptr});
  safety.tell(safety.lightest(), trial(space, safety.lightest()));
  EXPECT_TRUE(safety.admit(point(space, 2, 4, 0)).admitted);
  const Admission refused = safety.admit(point(space, 32, 64, 0));
  EXPECT_FALSE(refused.admitted);
  EXPECT_EQ(refused.reason.code, ReasonCode::predicted_growth);
}

TEST(LaunchGate, ACrashIsConfirmedOnceAndBecomesACap) {
  const Space space = grid();
  LaunchGate safety(space, {0, 0.05, 0, 1e9, nullptr});
  const int eight = point(space, 8, 8, 0);
  safety.tell(point(space, 4, 8, 0), trial(space, point(space, 4, 8, 0)));
  safety.tell(eight, trial(space, eight, Outcome::crashed));
  EXPECT_EQ(safety.point_to_confirm(), eight);
  EXPECT_EQ(safety.process_cap(), 0);
  safety.tell(eight, trial(space, eight, Outcome::crashed));
  EXPECT_EQ(safety.point_to_confirm(), -1);
  EXPECT_EQ(safety.process_cap(), 7);
  EXPECT_FALSE(safety.admit(point(space, 16, 4, 0)).admitted);
  EXPECT_TRUE(safety.admit(point(space, 4, 64, 0)).admitted);
}

Trial ended(const Space& space, int at, Outcome outcome, const char* cause) {
  Trial failed = trial(space, at, outcome);
  failed.cause = cause;
  return failed;
}

// One process failed in the same way: it is not their number.
TEST(LaunchGate, NoProcessCapFromAFailureThatFewerHaveToo) {
  const Space space = grid();
  LaunchGate safety(space, {0, 0.05, 0, 1e9, nullptr});
  safety.tell(point(space, 1, 8, 0), trial(space, point(space, 1, 8, 0)));
  for (const int at : {point(space, 2, 4, 0), point(space, 1, 4, 0)}) {
    for (int times = 0; times < 2; ++times) safety.tell(at, trial(space, at, Outcome::crashed));
  }
  EXPECT_EQ(safety.process_cap(), 0);
  EXPECT_TRUE(safety.admit(point(space, 2, 8, 0)).admitted);
}

TEST(LaunchGate, TooFewSamplesSayNothingOfOtherBatches) {
  const Space space = grid();
  LaunchGate safety(space, {0, 0.05, 0, 1e9, nullptr});
  const int small = point(space, 2, 4, 0);
  safety.tell(small, ended(space, small, Outcome::crashed, "dataset_too_small"));
  EXPECT_EQ(safety.point_to_confirm(), -1) << "the same again would fail the same";
  EXPECT_FALSE(safety.admit(small).admitted);
  EXPECT_TRUE(safety.admit(point(space, 2, 8, 0)).admitted);
  safety.tell(point(space, 1, 8, 0), trial(space, point(space, 1, 8, 0)));
  const int large = point(space, 4, 64, 0);
  safety.tell(large, ended(space, large, Outcome::crashed, "dataset_too_small"));
  EXPECT_FALSE(safety.admit(point(space, 8, 64, 0)).admitted);
  EXPECT_TRUE(safety.admit(point(space, 8, 32, 0)).admitted);
}

// A full /dev/shm far below the limit closes what has more in flight, and no memory.
TEST(LaunchGate, AFullShmIsNotTheMemoryLimit) {
  const Space space = grid();
  LaunchGate safety(space, {200000000000, 0.05, 0, 4, nullptr});
  safety.tell(point(space, 4, 16, 1), trial(space, point(space, 4, 16, 1)));
  const double usable = safety.usable_bytes();
  const int full = point(space, 4, 16, 4);
  safety.tell(full, ended(space, full, Outcome::out_of_memory, "shm_full"));
  EXPECT_EQ(safety.usable_bytes(), usable);
  EXPECT_FALSE(safety.admit(point(space, 8, 32, 4)).admitted);
  EXPECT_EQ(safety.admit(point(space, 8, 32, 4)).reason.nested(1).code, ReasonCode::ran_out_of_shm);
  EXPECT_TRUE(safety.admit(point(space, 8, 32, 0)).admitted);
  // Contradicted: as much was in flight there.
  safety.tell(point(space, 16, 64, 1), trial(space, point(space, 16, 64, 1)));
  EXPECT_TRUE(safety.admit(point(space, 8, 32, 4)).admitted);
  EXPECT_FALSE(safety.admit(full).admitted);
}

TEST(LaunchGate, ATimeoutIsNotRepeated) {
  const Space space = grid();
  LaunchGate safety(space, {0, 0.05, 0, 1e9, nullptr});
  safety.tell(point(space, 4, 8, 0), trial(space, point(space, 4, 8, 0)));
  const int eight = point(space, 8, 8, 0);
  safety.tell(eight, trial(space, eight, Outcome::timed_out));
  EXPECT_EQ(safety.point_to_confirm(), -1);
  EXPECT_FALSE(safety.admit(eight).admitted);
  EXPECT_FALSE(safety.admit(point(space, 16, 8, 0)).admitted);
}

// The lightest setting takes 60 %: nothing else is known to fit, and one step may be tried.
TEST(LaunchGate, TightMemoryIsExploredStepByStep) {
  const Space space = grid();
  LaunchGateOptions options;
  options.margin = 0;
  const int lightest = point(space, 1, 4, 0);
  options.limit_bytes = static_cast<std::uint64_t>(peak(space.knobs(lightest)) / 0.6);
  LaunchGate safety(space, options);
  EXPECT_TRUE(safety.knows_nothing());
  safety.tell(lightest, trial(space, lightest));
  const int larger = point(space, 1, 8, 0);
  EXPECT_TRUE(safety.admitted(larger) || safety.guardable(larger));
  EXPECT_FALSE(safety.admitted(point(space, 2, 4, 0)));
  EXPECT_FALSE(safety.guardable(point(space, 4, 32, 1))) << "more than a step";
  // Stopped at the limit: a lower bound, and no less memory for the others.
  const double usable = safety.usable_bytes();
  const int two = point(space, 2, 4, 0);
  const double chance = safety.chance_to_fit(point(space, 2, 8, 0));
  Trial stopped = ended(space, two, Outcome::out_of_memory, "limit");
  stopped.peak_bytes = options.limit_bytes;
  safety.tell(two, stopped);
  EXPECT_EQ(safety.usable_bytes(), usable);
  EXPECT_FALSE(safety.guardable(two));
  EXPECT_LE(safety.chance_to_fit(point(space, 2, 8, 0)), chance);
  EXPECT_TRUE(safety.admitted(larger) || safety.guardable(larger));
  options.memory.guards = false;
  LaunchGate careless(space, options);
  careless.tell(lightest, trial(space, lightest));
  EXPECT_FALSE(careless.guardable(larger));
}

// What a guard stopped may need hardly more than the limit: the same with another binding may fit,
// and what needs more of anything does not.
TEST(LaunchGate, AGuardedStopSaysNothingOfWhatNeedsAsMuch) {
  std::vector<Knobs> points;
  for (const int batch : {4, 8, 16}) {
    for (const char* binding : {"none", "compact"}) {
      Knobs knobs;
      knobs.batch = batch;
      knobs.binding = binding;
      points.push_back(knobs);
    }
  }
  const Space space(points);
  const auto at = [&](std::size_t i) { return space.find(points[i]); };
  LaunchGateOptions options;
  options.margin = 0;
  options.limit_bytes = 1000000000;
  LaunchGate safety(space, options);
  Trial fits = trial(space, at(0));
  fits.peak_bytes = 900000000;
  safety.tell(at(0), fits);
  Trial stopped = ended(space, at(3), Outcome::out_of_memory, "limit");
  stopped.peak_bytes = options.limit_bytes;
  safety.tell(at(3), stopped);
  EXPECT_TRUE(safety.admit(at(2)).may_work) << "the same without binding";
  EXPECT_FALSE(safety.admit(at(3)).may_work);
  EXPECT_FALSE(safety.admit(at(4)).may_work) << "a larger batch";
  EXPECT_FALSE(safety.admit(at(5)).may_work);
}

// Nor of what the model takes to need hardly more: where samples are light, a larger batch does.
TEST(LaunchGate, AGuardedStopSaysLittleOfWhatNeedsHardlyMore) {
  std::vector<Knobs> points;
  for (const int batch : {4, 8, 16}) {
    for (const int workers : {1, 2}) {
      Knobs knobs;
      knobs.batch = batch;
      knobs.workers = workers;
      points.push_back(knobs);
    }
  }
  const Space space(points);
  const auto at = [&](int batch, int workers) {
    Knobs knobs;
    knobs.batch = batch;
    knobs.workers = workers;
    return space.find(knobs);
  };
  LaunchGateOptions options;
  options.margin = 0;
  options.limit_bytes = 1000000000;
  LaunchGate safety(space, options);
  Trial fits = trial(space, at(4, 1));
  fits.peak_bytes = 980000000;
  safety.tell(at(4, 1), fits);
  fits.knobs = space.knobs(at(16, 1));
  fits.peak_bytes = 985000000;
  safety.tell(at(16, 1), fits);
  Trial stopped = ended(space, at(4, 2), Outcome::out_of_memory, "limit");
  stopped.peak_bytes = options.limit_bytes;
  safety.tell(at(4, 2), stopped);
  EXPECT_FALSE(safety.admit(at(4, 2)).may_work);
  EXPECT_FALSE(safety.admit(at(8, 2)).admitted);
  EXPECT_TRUE(safety.admit(at(8, 2)).may_work) << "four light samples more";
}

TEST(LaunchGate, ACrashThatDoesNotComeBackIsForgiven) {
  const Space space = grid();
  LaunchGate safety(space, {0, 0.05, 0, 1e9, nullptr});
  const int eight = point(space, 8, 8, 0);
  safety.tell(eight, trial(space, eight, Outcome::crashed));
  safety.tell(eight, trial(space, eight));
  EXPECT_EQ(safety.process_cap(), 0);
  EXPECT_TRUE(safety.admit(eight).admitted);
}

TEST(LaunchGate, WhatIsUnsupportedIsNotTriedTwice) {
  const Space space = grid();
  LaunchGate safety(space, {0, 0.05, 0, 1e9, nullptr});
  const int half = point(space, 1, 8, 0, "bf16");
  safety.tell(half, trial(space, half, Outcome::unsupported));
  EXPECT_EQ(safety.point_to_confirm(), -1);
  EXPECT_FALSE(safety.admit(half).admitted);
}

Trial other_text(const Space& space, int at) {
  Trial refused = trial(space, at, Outcome::wrong_result);
  refused.cause = kTextCause;
  return refused;
}

// It took half the budget of a search to refuse a precision in each shape of a launch.
TEST(LaunchGate, APrecisionThatReadsOtherwiseInTwoShapesDoesInAll) {
  const Space space = grid();
  LaunchGate safety(space, {});
  const auto tell_ok = [&](int at) { safety.tell(at, trial(space, at)); };
  const auto tell_other = [&](int at) { safety.tell(at, other_text(space, at)); };
  tell_ok(point(space, 1, 4, 0));
  tell_other(point(space, 2, 4, 0, "bf16"));
  EXPECT_TRUE(safety.admitted(point(space, 1, 4, 0, "bf16")));
  tell_other(point(space, 2, 8, 0, "bf16"));
  // Two processes, or what they take at once, may be to blame.
  EXPECT_TRUE(safety.admitted(point(space, 1, 4, 0, "bf16")));
  tell_ok(point(space, 2, 8, 0));
  EXPECT_FALSE(safety.admitted(point(space, 1, 4, 0, "bf16")));
  EXPECT_FALSE(safety.admit(point(space, 1, 4, 0, "bf16")).may_work);
  EXPECT_TRUE(safety.admitted(point(space, 2, 4, 0)));
}

// Binding and queue change no text: 9 of 28 trials went into variants of two refused settings.
TEST(LaunchGate, APrecisionThatReadsOtherwiseIsNotTriedAgainInItsShape) {
  std::vector<Knobs> points(4);
  points[1].precision = points[2].precision = "bf16";
  points[2].binding = points[3].binding = "compact";
  const Space space(std::move(points));
  LaunchGate safety(space, {});
  safety.tell(1, other_text(space, 1));
  EXPECT_TRUE(safety.admitted(2)) << "the shape may be to blame";
  safety.tell(3, trial(space, 3));
  EXPECT_FALSE(safety.admitted(2));
  EXPECT_TRUE(safety.admitted(0));
}

// 14 of 23 trials went into int8 with one option of a framework's session after the other.
TEST(LaunchGate, WhatOneOptionOfAnEngineReadsTheOthersReadToo) {
  std::vector<Knobs> points(4);
  points[0].backend = "openvino";
  points[1].backend = "onnxruntime";
  points[2].backend = "onnxruntime+no-arena";
  points[3].backend = "openvino";
  for (const int at : {1, 2, 3}) points[static_cast<std::size_t>(at)].precision = "int8";
  const Space space(std::move(points));
  LaunchGate safety(space, {});
  safety.tell(0, trial(space, 0));
  safety.tell(1, other_text(space, 1));
  EXPECT_FALSE(safety.admitted(2));
  EXPECT_TRUE(safety.admitted(3));  // another engine's arithmetic
}

TEST(LaunchGate, ATextOfOneShapeAloneBlamesTheShape) {
  const Space space = grid();
  LaunchGate safety(space, {});
  const int one = point(space, 1, 4, 0, "bf16");
  safety.tell(point(space, 2, 8, 0), trial(space, point(space, 2, 8, 0)));
  safety.tell(one, trial(space, one));
  for (const int batch : {8, 16}) {
    const int at = point(space, 2, batch, 0, "bf16");
    safety.tell(at, other_text(space, at));
  }
  EXPECT_TRUE(safety.admitted(point(space, 1, 8, 0, "bf16")));
  // What read so much alike that it passed, and then did not, speaks for nobody.
  safety.tell(one, other_text(space, one));
  EXPECT_FALSE(safety.admitted(point(space, 1, 8, 0, "bf16")));
}

TEST(LaunchGate, AnAllocatorThatIsNotTakenIsAskedForOnce) {
  std::vector<Knobs> points;
  for (const char* malloc : {"default", "jemalloc"}) {
    for (const int batch : {4, 8}) {
      Knobs knobs;
      knobs.malloc = malloc;
      knobs.batch = batch;
      points.push_back(knobs);
    }
  }
  const Space space(points);
  LaunchGate safety(space, {});
  safety.tell(space.find(points[0]), trial(space, space.find(points[0])));
  Trial refused = trial(space, space.find(points[2]), Outcome::unsupported);
  refused.cause = "malloc";
  safety.tell(space.find(points[2]), refused);
  EXPECT_FALSE(safety.admitted(space.find(points[3])));
  EXPECT_TRUE(safety.admitted(space.find(points[1])));
}

}  // namespace
}  // namespace ocrtune
