#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/html/page_sections.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RunRecord run_with(bool differs) {
  RunRecord run;
  SettingSummary setting;
  setting.knobs.batch = 16;
  setting.same.compared = true;
  setting.same.differs = differs;
  setting.same.inputs = 200;
  setting.same.differing_inputs = 12;
  setting.same.changed_share = 0.008;
  setting.same.examples = {{"a.png", "Invoice total 1,200", "Invoice t0tal 1,200"},
                           {"b.png", "合计金额", "合汁金额"},
                           {"c.png", "<b>", ""}};
  run.result.settings = {setting};
  return run;
}

TEST(PageTexts, ExamplesStandSideBySideWithTheDifferenceMarked) {
  const std::string html = texts_section(run_with(true));
  EXPECT_THAT(html, HasSubstr("batch=16"));
  EXPECT_THAT(html, HasSubstr("12 of 200 inputs otherwise"));
  EXPECT_THAT(html, HasSubstr("Invoice t<mark>o</mark>tal 1,200"));
  EXPECT_THAT(html, HasSubstr("Invoice t<mark>0</mark>tal 1,200"));
  EXPECT_THAT(html, HasSubstr("合<mark>汁</mark>金额"));
  EXPECT_THAT(html, HasSubstr("<mark>&lt;b&gt;</mark>"));
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
}

TEST(PageTexts, SmallSharesAreNoZeroAndAStartIsNotCalledTheUsers) {
  RunRecord run = run_with(true);
  run.result.settings[0].same.changed_share = 0.0002;
  run.search.baseline_source = kBaselineGiven;
  EXPECT_THAT(texts_section(run), HasSubstr("0.02 % of the characters"));
  EXPECT_THAT(texts_section(run), HasSubstr("Your setting reads"));
  run.search.baseline_source = kBaselineFirst;
  EXPECT_THAT(texts_section(run), HasSubstr("first setting of your lists reads"));
}

TEST(PageTexts, NothingIsSaidWhereAllReadTheSame) { EXPECT_EQ(texts_section(run_with(false)), ""); }

}  // namespace
}  // namespace ocrtune
