#include "reports/catalogue/plain_text.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(PlainText, MakesControlBytesAndDirectionMarksVisible) {
  EXPECT_EQ(plain_text("a\x1b[31mb\x07"), "a\\x1b[31mb\\x07");
  EXPECT_EQ(plain_text("a\xE2\x80\xAE"
                       "b"),
            "a<U+202E>b");
  EXPECT_EQ(plain_text("\xC2\x9B"), "\\x9b");
  EXPECT_EQ(plain_text("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(plain_text(std::string("a\0b", 3)), "a\\x00b");
}

TEST(PlainText, KeepsOtherScriptsAndReplacesWhatIsNotUtf8) {
  EXPECT_EQ(plain_text("\xE4\xB8\xAD\xE6\x96\x87 \xD7\xA9"), "\xE4\xB8\xAD\xE6\x96\x87 \xD7\xA9");
  EXPECT_EQ(plain_text("a\xFF"), "a\xEF\xBF\xBD");
}

TEST(PlainText, CutsTheMiddleOfALongTextBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "\xE4\xB8\xAD";
  const std::string cut = plain_text(text, 100);
  EXPECT_LT(cut.size(), 150u);
  EXPECT_NE(cut.find("[... 14"), std::string::npos) << cut;
  EXPECT_EQ(cut.find("\xEF\xBF\xBD"), std::string::npos) << "a character was cut apart";
}

TEST(PlainText, ALineIsOneLine) {
  EXPECT_EQ(plain_line("a\nb\tc\r\nd"), "a / b c / d");
  EXPECT_EQ(plain_line("10 %\r20 %"), "10 % / 20 %");
}

TEST(PlainText, EscapesMarkup) {
  EXPECT_EQ(html_text("<a href=\"x\" b='y'>&"), "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;");
}

TEST(PlainText, AScriptCannotBeEnded) {
  const std::string json = script_json("{\"a\":\"</script><!-- & \xE2\x80\xA8\"}");
  EXPECT_EQ(json, "{\"a\":\"\\u003c/script\\u003e\\u003c!-- \\u0026 \\u2028\"}");
}

TEST(PlainText, CutsByColumnsOfTheTerminal) {
  EXPECT_EQ(display_width("ab\xE4\xB8\xAD"), 4);
  EXPECT_EQ(cut_to_width("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(cut_to_width("abcdefghijk", 10), "abcdefg...");
  EXPECT_LE(display_width(cut_to_width("\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD", 6)), 6);
}

}  // namespace
}  // namespace ocrtune
