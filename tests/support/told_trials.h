// Trials that were told by hand, and what comes of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/sample_windows.h"
#include "tuner/search/search.h"
#include "tuner/verdict/recommend.h"

namespace ocrtune {

class Recommend : public ::testing::Test {
 public:
  static Knobs setting(int nproc, int batch = 16) {
    Knobs knobs;
    knobs.nproc = nproc;
    knobs.batch = batch;
    return knobs;
  }

  static Trial ran(const Knobs& knobs, double rate, double gigabytes, const char* phase = "race") {
    Trial trial;
    trial.knobs = knobs;
    trial.phase = phase;
    trial.outcome = Outcome::ok;
    trial.samples_per_second = rate;
    trial.peak_bytes = static_cast<std::uint64_t>(gigabytes * 1e9);
    trial.seconds = 2;
    trial.samples.push_back(window_of(rate));
    return trial;
  }

  static Trial failed(const Knobs& knobs, Outcome outcome, const char* reason) {
    Trial trial;
    trial.knobs = knobs;
    trial.phase = "sweep";
    trial.outcome = outcome;
    trial.reason = reason;
    return trial;
  }

 protected:
  Space space_{std::vector<Knobs>{setting(1), setting(2), setting(4), setting(8), setting(7)}};
  std::vector<Trial> trials_;
  RecommendOptions options_;

  TuneResult result() {
    SearchOptions search_options;
    search_options.safety.limit_bytes = options_.limit_bytes;
    search_ = make_search(space_, search_options);
    for (const Trial& trial : trials_) search_->tell(trial);
    return recommend(space_, *search_, trials_, options_);
  }
  void race(const Knobs& knobs, double rate, double gigabytes, int rounds = 4) {
    for (int round = 0; round < rounds; ++round) {
      trials_.push_back(ran(knobs, rate * (1 + 0.002 * (round % 3 - 1)), gigabytes));
    }
  }
  std::unique_ptr<Search> search_;
};

}  // namespace ocrtune
