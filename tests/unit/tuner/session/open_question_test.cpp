// What a search does with the end of its own rule while its answer is an open question.
#include <algorithm>

#include <gtest/gtest.h>

#include "trial/table_runner.h"
#include "tuner/session/tune_loop.h"

namespace ocrtune {
namespace {

// Ends by its own rule before it has run anything, and knows so many trials that tell more.
class Satisfied : public Search {
 public:
  explicit Satisfied(int informative, const char* why = "satisfied")
      : informative_(informative), why_(why) {}
  std::optional<Proposal> next(double) override { return std::nullopt; }
  std::optional<Proposal> settle(const OpenQuestion& question, double) override {
    if (informative_-- == 0) return std::nullopt;
    return Proposal{question.rival, "model", "", 0, 0};
  }
  void tell(const Trial&) override {}
  std::string stop_reason() const override { return why_; }
  const Objective& objective() const override { return objective_; }
  Prediction predict(const Knobs&) const override { return {}; }

 private:
  int informative_;
  const char* why_;
  Objective objective_;
};

RecordedTable two_settings() {
  RecordedTable table;
  for (const int nproc : {1, 2}) {
    TableRow row;
    row.knobs.nproc = nproc;
    row.samples_per_second = 10 * nproc;
    table.rows.push_back(row);
  }
  return table;
}

int trials_of(int informative, int open_until, double budget) {
  const RecordedTable table = two_settings();
  Satisfied search(informative);
  CountingClock clock;
  TableRunner runner(table, clock, 1);
  TuneLoopOptions loop;
  loop.budget_seconds = budget;
  loop.open_question = [&](const std::vector<Trial>& trials) -> std::optional<OpenQuestion> {
    if (static_cast<int>(trials.size()) >= open_until) return std::nullopt;
    return OpenQuestion{table.rows[0].knobs, table.rows[1].knobs, 10};
  };
  const auto end = tune_loop(search, runner, clock, loop, {});
  EXPECT_TRUE(end.ok());
  EXPECT_EQ(end->stop_reason, end->seconds < budget ? "satisfied" : "budget");
  for (const Trial& trial : end->trials) EXPECT_EQ(trial.knobs, table.rows[1].knobs);
  return static_cast<int>(end->trials.size());
}

TEST(OpenQuestion, IsWhatTheSearchGoesOnWith) {
  EXPECT_EQ(trials_of(100, 0, 50), 0) << "nothing is open";
  EXPECT_EQ(trials_of(100, 7, 50), 7) << "until it is settled";
  EXPECT_EQ(trials_of(4, 7, 50), 4) << "while a trial tells more";
  EXPECT_EQ(trials_of(100, 70, 50), 50) << "until the budget ends";
}

// The search knows of no trial, and takes its own share of the budget for the whole.
TEST(OpenQuestion, WhatLacksTurnsIsRunInTurnsWhileTheBudgetLasts) {
  const RecordedTable table = two_settings();
  const Knobs &one = table.rows[0].knobs, &two = table.rows[1].knobs;
  for (const char* why : {"satisfied", "budget"}) {
    for (const int wanted : {6, 50}) {
      Satisfied search(0, why);
      CountingClock clock;
      TableRunner runner(table, clock, 1);
      TuneLoopOptions loop;
      loop.budget_seconds = 20;
      loop.open_question = [&](const std::vector<Trial>& trials) -> std::optional<OpenQuestion> {
        if (static_cast<int>(trials.size()) >= wanted) return std::nullopt;
        const bool last = !trials.empty() && trials.back().knobs == two;
        return OpenQuestion{two, one, 20, last ? one : two};
      };
      const auto end = tune_loop(search, runner, clock, loop, {});
      ASSERT_TRUE(end.ok());
      ASSERT_EQ(static_cast<int>(end->trials.size()), std::min(wanted, 20));
      for (std::size_t i = 0; i < end->trials.size(); ++i) {
        EXPECT_EQ(end->trials[i].knobs, i % 2 == 0 ? two : one);
        EXPECT_EQ(end->trials[i].phase, "race");
      }
    }
  }
}

}  // namespace
}  // namespace ocrtune
