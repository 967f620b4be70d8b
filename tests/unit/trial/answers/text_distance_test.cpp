#include "trial/answers/text_distance.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(TextDistance, CountsCharactersNotBytes) {
  EXPECT_EQ(character_count("a\xe5\x90\x88"), 2);
  EXPECT_EQ(character_distance("\xe5\x90\x88\xe8\xae\xa1", "\xe5\x90\x88\xe6\xae\xa1"), 1);
  EXPECT_EQ(character_distance("Invoice total 1,200", "lnvo1ce t0tal l,2OO"), 6);
  EXPECT_EQ(character_distance("", "abc"), 3);
  EXPECT_EQ(character_distance("kitten", "sitting"), 3);
  EXPECT_EQ(character_count("a\xff"), 2);
}

TEST(TextDistance, TextsAreComparedByTheirOrderAndWholeWhereOneIsMissing) {
  EXPECT_EQ(texts_distance({"ab", "cd"}, {"ab", "ce"}), 1);
  EXPECT_EQ(texts_distance({"ab", "cd"}, {"ab"}), 3);
}

TEST(TextDistance, LongTextsAreComparedInPieces) {
  const std::string long_text(9000, 'a');
  EXPECT_EQ(character_distance("x" + long_text + "y", "u" + long_text + "v"), 2);
}

TEST(ComposedForm, ComposesLettersKanaAndHangul) {
  EXPECT_EQ(composed_form("e\xcc\x81"), "\xc3\xa9");
  EXPECT_EQ(composed_form("\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab"), "\xed\x95\x9c");
  EXPECT_EQ(composed_form("\xe3\x81\x8b\xe3\x82\x99"), "\xe3\x81\x8c");
  EXPECT_EQ(composed_form("\xef\xbc\xa1\xe3\x80\x80\xef\xbc\x91"), "A 1");
  EXPECT_EQ(composed_form("x\xcc\x81"), "x\xcc\x81");             // no such letter
  EXPECT_EQ(composed_form("a\xcc\x82\xcc\x81"), "\xe1\xba\xa5");  // two marks
}

TEST(TextDistance, Utf8RoundTrip) {
  const std::string text = "a\xc3\xa9\xe5\x90\x88\xf0\x9f\x98\x80";
  EXPECT_EQ(utf8_of(characters_of(text)), text);
}

}  // namespace
}  // namespace ocrtune
