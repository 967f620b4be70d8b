#include "core/data/alphabet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

TEST(Alphabet, NamesAndCharacters) {
  EXPECT_EQ(Alphabet::from_name("digits")->classes(), 11);
  EXPECT_EQ(Alphabet::from_name("alnum")->classes(), 37);
  for (const char* path : {"nofile.txt", "dict/en", "./en.dict", "/dict"}) {
    const auto mistyped = Alphabet::from_name(path);
    ASSERT_FALSE(mistyped) << path;
    EXPECT_EQ(mistyped.error().kind, ErrorKind::usage);
    EXPECT_NE(mistyped.error().what.find("no such file"), std::string::npos);
  }
  for (const char* characters : {"0123456789/.-", "abc.", "ab/", "a.b", ".", "A/9"}) {
    EXPECT_TRUE(Alphabet::from_name(characters)) << characters;
  }
  const auto own = Alphabet::from_name("abcabé漢");
  ASSERT_TRUE(own);
  EXPECT_EQ(own->text(), "abcé漢");
  EXPECT_EQ(own->classes(), 6);
}

TEST(Alphabet, EncodesFromOneAndDecodesBack) {
  const auto alphabet = Alphabet::from_text("aé漢");
  const auto classes = alphabet->encode("漢aéa");
  ASSERT_TRUE(classes);
  EXPECT_EQ(*classes, (std::vector<int>{3, 1, 2, 1}));
  EXPECT_EQ(alphabet->decode(*classes), "漢aéa");
  EXPECT_EQ(alphabet->decode({0, 3, 99, -1}), "漢");
}

TEST(Alphabet, NamesTheCharacterThatIsLacking) {
  const auto missing = Alphabet::from_name("digits")->encode("12ü4");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().what, HasSubstr("'ü' is not in the alphabet"));
}

TEST(Alphabet, RefusesWhatIsNotUtf8) {
  for (const char* text : {"\xFF", "a\xC3", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                           "\xE0\x80\x80", "\xF0\x80\x80\x80", "\x80"}) {
    EXPECT_FALSE(split_characters(text)) << ::testing::PrintToString(text);
  }
  EXPECT_TRUE(split_characters("\xF0\x9F\x98\x80"));  // four bytes
  EXPECT_EQ(Alphabet::from_text("").error().kind, ErrorKind::usage);
  EXPECT_EQ(Alphabet::from_text("\xFF").error().kind, ErrorKind::usage);
}

class AlphabetFile : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("alphabet"); }
  void TearDown() override { (void)remove_tree(folder_); }
  Result<Alphabet> load(const std::string& text) {
    (void)write_file(path(), text);
    return Alphabet::load(path());
  }
  std::string path() const { return folder_ + "/alphabet.txt"; }
  std::string folder_;
};

TEST_F(AlphabetFile, ReadsADictionary) {
  const auto alphabet = load(
      "\xEF\xBB\xBF"
      "a\r\n漢\r\n \r\n");
  ASSERT_TRUE(alphabet);
  EXPECT_EQ(alphabet->text(), "a漢 ");
  EXPECT_EQ(load(alphabet->file_text())->text(), "a漢 ");
}

TEST_F(AlphabetFile, NamesTheBadLine) {
  EXPECT_THAT(load("a\nbc\n").error().what, HasSubstr("alphabet.txt:2: not one UTF-8"));
  EXPECT_THAT(load("a\n\nb\n").error().what, HasSubstr("alphabet.txt:2: not one UTF-8"));
  EXPECT_THAT(load("a\nb\na\n").error().what, HasSubstr("alphabet.txt:3: 'a' comes twice"));
  EXPECT_THAT(load("").error().what, HasSubstr("no characters"));
  EXPECT_EQ(Alphabet::load(folder_ + "/none").error().kind, ErrorKind::missing);
}

}  // namespace
}  // namespace ocrtune
