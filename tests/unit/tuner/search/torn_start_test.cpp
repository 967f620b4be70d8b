// A start whose first launch was slow once, as of a program that fills a cache on the disk.
#include <optional>

#include <gtest/gtest.h>

#include "tests/support/sample_windows.h"
#include "tuner/search/search.h"
#include "tuner/search/search_board.h"

namespace ocrtune {
namespace {

Knobs start_of_four(int place) {
  Knobs knobs;
  knobs.nproc = 1;
  knobs.dims = {{"x", std::to_string(place)}};
  return knobs;
}

Trial launched(const Knobs& knobs, double rate) {
  Trial trial;
  trial.knobs = knobs;
  trial.outcome = Outcome::ok;
  trial.seconds = 4;
  trial.samples_per_second = rate;
  trial.samples.assign(5, window_of(rate));
  return trial;
}

SearchOptions options_of_start() {
  SearchOptions options;
  options.first = {start_of_four(1)};
  return options;
}

TEST(TornStart, IsRunAThirdTimeAtOnce) {
  const Space space({start_of_four(1), start_of_four(2), start_of_four(3), start_of_four(4)});
  const auto search = make_search(space, options_of_start());
  search->tell(launched(start_of_four(1), 50));
  search->tell(launched(start_of_four(2), 100));
  search->tell(launched(start_of_four(3), 101));
  search->tell(launched(start_of_four(1), 100));
  const std::optional<Proposal> next = search->next(1000);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->knobs, start_of_four(1));
  EXPECT_EQ(next->phase, "baseline");
  search->tell(launched(start_of_four(1), 101));
  const std::optional<Proposal> after = search->next(1000);
  EXPECT_TRUE(!after || after->knobs != start_of_four(1) || after->phase != "baseline");
}

TEST(TornStart, IsOneWhoseTrialsDifferByMoreThanNoise) {
  const Space space({start_of_four(1), start_of_four(2)});
  SearchBoard board(space, options_of_start());
  board.tell(launched(start_of_four(1), 100));
  EXPECT_FALSE(board.baseline_is_torn()) << "of one trial nothing is known";
  board.tell(launched(start_of_four(1), 106));
  EXPECT_FALSE(board.baseline_is_torn());
  SearchBoard torn(space, options_of_start());
  for (const double rate : {50.0, 100.0}) torn.tell(launched(start_of_four(1), rate));
  EXPECT_TRUE(torn.baseline_is_torn());
  torn.tell(launched(start_of_four(1), 100));
  EXPECT_FALSE(torn.baseline_is_torn()) << "two of three agree";
}

}  // namespace
}  // namespace ocrtune
