#include "trial/workloads/engine_train/fit_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using testing::HasSubstr;

TEST(FitSpec, SurvivesItsText) {
  FitSpec spec;
  spec.run.loader.heights = {32, 48};
  spec.run.trainer.seed = ~0ULL;
  const auto again = parse_fit_spec(fit_spec_text(spec));
  ASSERT_TRUE(again.ok()) << again.error().what;
  EXPECT_EQ(fit_spec_text(*again), fit_spec_text(spec));
}

// To make an int of such a number is undefined.
TEST(FitSpec, NumbersThatDoNotFitAreRefused) {
  const std::string whole = fit_spec_text(FitSpec());
  const std::pair<std::string, std::string> rows[] = {
      {"\"batch\":16", "\"batch\":122222222222222222222222222222222226"},
      {"\"batch\":16", "\"batch\":4294967296"},
      {"\"batch\":16", "\"batch\":1.5"},
      {"\"heights\":[]", "\"heights\":[1e35]"},
      {"\"heights\":[]", "\"heights\":7"},
      {"\"seed\":1", "\"seed\":-1"},
  };
  for (const auto& [old, bad] : rows) {
    const std::size_t at = whole.find(old);
    ASSERT_NE(at, std::string::npos) << old << " in " << whole;
    const auto spec = parse_fit_spec(std::string(whole).replace(at, old.size(), bad));
    ASSERT_FALSE(spec.ok()) << bad;
    EXPECT_EQ(spec.error().kind, ErrorKind::usage);
    EXPECT_THAT(spec.error().what, HasSubstr("training spec")) << bad;
  }
}

}  // namespace
}  // namespace ocrtune
