#include <string>

#include <gtest/gtest.h>

#include "reports/catalogue/phrases.h"
#include "tests/support/english_words.h"

namespace ocrtune {
namespace {

TEST(PlanPhrases, ComposedSentencesAreTranslatedWhole) {
  for (const char* sentence :
       {"the measurement was disturbed by other load (NOISY HOST): tune again when the machine is "
        "idle to narrow this plan",
        "pages: recognition of their lines alone was measured; finding the lines on a page comes "
        "on top, in time and in machines"}) {
    const std::string chinese = chinese_of(sentence);
    EXPECT_NE(chinese, sentence);
    EXPECT_FALSE(has_english(chinese)) << chinese;
  }
}

}  // namespace
}  // namespace ocrtune
