
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/sample_windows.h"
#include "tuner/search/search.h"

namespace ocrtune {
namespace {

constexpr int kFewCpus = 2;

// Lists of our own for two CPUs.
Space own_lists() {
  std::vector<Knobs> points;
  for (const int nproc : {1, 2}) {
    for (const int workers : {0, 1, 2}) {
      Knobs knobs;
      knobs.nproc = nproc;
      knobs.workers = workers;
      points.push_back(knobs);
    }
  }
  return Space(points);
}

// A loader that waits 40 ms for each file: twelve of them keep the disk busy.
Trial waits(const Knobs& knobs, double cpu_seconds_of_sample) {
  Trial trial;
  trial.knobs = knobs;
  trial.outcome = Outcome::ok;
  trial.seconds = 4;
  trial.start_seconds = 1;
  trial.peak_bytes = 1 << 20;
  const double computing = 2 / cpu_seconds_of_sample;
  trial.samples_per_second = std::min(22.0 * std::clamp(knobs.workers, 1, 12), computing);
  Sample sample = window_of(trial.samples_per_second, 0.5);
  sample.interference.observed_seconds = 0.5;
  sample.interference.cpu_seconds = 0.5 * cpu_seconds_of_sample * trial.samples_per_second;
  sample.interference.available_cpus = kFewCpus;
  trial.samples.assign(6, sample);
  return trial;
}

struct Grown {
  std::set<int> workers;  // that were tried
  std::unique_ptr<Search> search;
};

Grown search_for(double seconds, double cpu_seconds_of_sample, const SearchOptions& options) {
  const Space space = own_lists();
  Grown done{{}, make_search(space, options)};
  for (double left = seconds; left > 0; left -= 4) {
    const auto proposal = done.search->next(left);
    if (!proposal) break;
    done.workers.insert(proposal->knobs.workers);
    Trial trial = waits(proposal->knobs, cpu_seconds_of_sample);
    trial.phase = proposal->phase;
    trial.round = proposal->round;
    done.search->tell(trial);
  }
  return done;
}

SearchOptions going_on() {
  SearchOptions options;
  options.cores = options.cpus = kFewCpus;
  options.first = {Knobs()};
  options.safety.limit_bytes = 1 << 30;
  options.further = {{"workers", 64}};
  return options;
}

TEST(GrowingSearch, AListThatEndsTooEarlyGoesOn) {
  const Grown done = search_for(160, 0.001, going_on());
  EXPECT_TRUE(done.workers.contains(16)) << "twelve are enough";
  EXPECT_FALSE(done.workers.contains(64)) << "32 brought nothing";
  ASSERT_NE(done.search->own_space(), nullptr);
  EXPECT_GT(done.search->own_space()->size(), own_lists().size());
}

TEST(GrowingSearch, WhatKeepsTheCpusBusyGoesNoFurther) {
  const Grown done = search_for(160, 2 / 40.0, going_on());
  EXPECT_EQ(*done.workers.rbegin(), 2);
  EXPECT_EQ(done.search->own_space(), nullptr);
}

TEST(GrowingSearch, AListOfTheUsersEndsWhereItEnds) {
  SearchOptions options = going_on();
  options.further.clear();
  EXPECT_EQ(*search_for(160, 0.001, options).workers.rbegin(), 2);
}

TEST(GrowingSearch, ConditionsHoldBeyondTheListToo) {
  SearchOptions options = going_on();
  options.allows = [](const Knobs& knobs) { return knobs.nproc * knobs.workers <= 4; };
  const Grown done = search_for(160, 0.001, options);
  EXPECT_EQ(*done.workers.rbegin(), 4);
}

// A stored run has its trials alone.
TEST(GrowingSearch, IsTheSameForTheSameTrials) {
  const Grown done = search_for(160, 0.001, going_on());
  const Space space = own_lists();
  const auto again = make_search(space, going_on());
  for (const int workers : {0, 1, 2, 4, 8, 16}) {
    Knobs knobs;
    knobs.workers = workers;
    again->tell(waits(knobs, 0.001));
  }
  ASSERT_NE(again->own_space(), nullptr);
  Knobs most;
  most.workers = 16;
  EXPECT_GE(again->own_space()->find(most), 0);
  EXPECT_GT(again->predict(most).memory.bytes, 0);
}

}  // namespace
}  // namespace ocrtune
