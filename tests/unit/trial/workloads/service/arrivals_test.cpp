#include "trial/workloads/service/arrivals.h"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/stats.h"

namespace ocrtune {
namespace {

Result<std::vector<double>> read_text(const std::string& text) {
  const std::string folder = make_temporary_directory("arrivals").value();
  const std::string path = join_path(folder, "trace.csv");
  EXPECT_TRUE(write_file(path, text).ok());
  auto trace = read_trace(path);
  EXPECT_TRUE(remove_tree(folder).ok());
  return trace;
}

TEST(Arrivals, PoissonGapsAreExponential) {
  const auto times = take_arrivals(Arrivals::poisson(50, 1), 100000);
  std::vector<double> gaps;
  for (std::size_t i = 1; i < times.size(); ++i) gaps.push_back(times[i] - times[i - 1]);
  EXPECT_NEAR(mean(gaps), 0.02, 0.0003);
  EXPECT_NEAR(stddev(gaps), 0.02, 0.0005);  // as large as the mean
  EXPECT_NEAR(median(gaps), std::log(2) * 0.02, 0.0003);
  EXPECT_THAT(times, testing::WhenSorted(testing::ContainerEq(times)));
}

TEST(Arrivals, SeedsDecide) {
  EXPECT_EQ(take_arrivals(Arrivals::poisson(1, 7), 50), take_arrivals(Arrivals::poisson(1, 7), 50));
  EXPECT_NE(take_arrivals(Arrivals::poisson(1, 7), 50), take_arrivals(Arrivals::poisson(1, 8), 50));
}

TEST(Arrivals, ATraceKeepsItsShapeAndBeginsAgain) {
  const auto times =
      take_arrivals(Arrivals::trace({5, 6, 9}), 5);         // 1 request a second in the mean
  EXPECT_THAT(times, testing::ElementsAre(0, 1, 4, 6, 7));  // own rate 0.5: gap 2 at the seam
}

TEST(Arrivals, ATraceStretchesToARate) {
  const auto times = take_arrivals(Arrivals::trace({0, 1, 4}, 5), 3);
  EXPECT_THAT(times, testing::ElementsAre(0, testing::DoubleNear(0.1, 1e-12),
                                          testing::DoubleNear(0.4, 1e-12)));
}

TEST(ReadTrace, SortsAndStartsAtZero) {
  const auto trace = read_text("seconds,who\n# a comment\n12.5,a\n10,b\n\n11\n");
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_THAT(*trace, testing::ElementsAre(0, 1, 2.5));
}

TEST(ReadTrace, NamesTheBadLine) {
  const auto trace = read_text("seconds\n1\nsoon\n");
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().kind, ErrorKind::invalid);
  EXPECT_THAT(trace.error().what, testing::HasSubstr("trace.csv:3: not a time in seconds: 'soon'"));
}

TEST(ReadTrace, RefusesWhatHasNoSpan) {
  EXPECT_FALSE(read_text("").ok());
  EXPECT_FALSE(read_text("3\n").ok());
  EXPECT_FALSE(read_text("3\n3\n3\n").ok());
  EXPECT_EQ(read_trace("/no/such/trace").error().kind, ErrorKind::missing);
}

TEST(TraceRates, MeanAndBusiestWindow) {
  EXPECT_DOUBLE_EQ(trace_rate({0, 1, 2, 3, 4}), 1);
  EXPECT_DOUBLE_EQ(busiest_rate({0, 10, 10.1, 10.2, 20}, 1), 3);
}

}  // namespace
}  // namespace ocrtune
