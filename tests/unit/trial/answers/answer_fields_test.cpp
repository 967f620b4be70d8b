#include "trial/answers/answer_fields.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

std::vector<std::string> texts_at(const std::vector<AnswerField>& fields, const std::string& path) {
  for (const AnswerField& field : fields) {
    if (field.path == path) return field.texts;
  }
  return {"no such path"};
}

TEST(AnswerFields, TakesEveryStringButPicturesAndNoNumbers) {
  const std::string picture(300, 'A');
  const auto fields = answer_fields(
      R"({"code": 0, "result": {"rec_texts": ["Total", "1,200"], "scores": [0.98], "image": ")" +
          picture + R"(", "uri": "data:image/png;base64,AA"}})",
      {});
  ASSERT_EQ(fields.size(), 1U);
  EXPECT_EQ(fields[0].path, "result.rec_texts");
  EXPECT_EQ(fields[0].texts, (std::vector<std::string>{"Total", "1,200"}));
}

TEST(AnswerFields, NamedPathsPassThroughListsAndTakeNumbers) {
  const std::string body =
      R"({"pages": [{"rows": [{"text": "a", "sum": 3}, {"text": "b", "sum": 4}]}], "id": "x"})";
  EXPECT_EQ(texts_at(answer_fields(body, {"pages.rows.text"}), "pages.rows.text"),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(texts_at(answer_fields(body, {"pages.0.rows.sum"}), "pages.rows.sum"),
            (std::vector<std::string>{"3", "4"}));
  EXPECT_EQ(answer_fields(body, {"pages"}).size(), 2U);  // all that lies below
  EXPECT_TRUE(answer_fields(body, {"result.texts"}).empty());
}

TEST(AnswerFields, NamesThatAreIdsAreOnePath) {
  const auto fields = answer_fields(R"({"f3a9c01b77": {"text": "a"}, "17": {"text": "b"}})", {});
  ASSERT_EQ(fields.size(), 1U);
  EXPECT_EQ(fields[0].path, "*.text");
  EXPECT_EQ(fields[0].texts, (std::vector<std::string>{"a", "b"}));
}

TEST(AnswerFields, AnswerThatIsNoJsonIsItsText) {
  EXPECT_EQ(texts_at(answer_fields(" line one\nline two\n", {}), ""),
            (std::vector<std::string>{"line one\nline two"}));
  EXPECT_EQ(texts_at(answer_fields("<p title='bbox 1 2'>Total <b>5</b></p>", {}), ""),
            (std::vector<std::string>{"Total 5"}));
  EXPECT_TRUE(answer_fields("", {}).empty());
  EXPECT_TRUE(answer_fields("{\"cut off\": ", {"cut"}).empty());
}

TEST(RawStrings, StopsAtQuotesThatAreNotEscaped) {
  RawStrings strings(R"({"a\"b": "c\\", "d": ""})");
  std::vector<std::string> all;
  for (std::string_view text; strings.next(text);) all.emplace_back(text);
  EXPECT_EQ(all, (std::vector<std::string>{R"(a\"b)", R"(c\\)", "d", ""}));
  RawStrings open("\"never closed");
  std::string_view text;
  EXPECT_FALSE(open.next(text));
  RawStrings slashes("\\\\\\\"");
  EXPECT_FALSE(slashes.next(text));
}

TEST(AnswerStrings, ListsNamesAndValuesInTheirOrder) {
  const auto strings = answer_strings(R"({"id": "7", "texts": ["a", "b"], "n": 3})", {"texts"});
  ASSERT_EQ(strings.size(), 6U);
  EXPECT_FALSE(strings[1].counts);
  EXPECT_TRUE(strings[3].counts);
  EXPECT_EQ(strings[4].path, "texts");
}

TEST(AnswerFields, KnowsTimesAndIds) {
  for (const char* text : {"12.5 ms", "0.031s", "7", "f3a9c01b77", "12:04:11",
                           "chatcmpl-8f2d31ab9c", "req_8f2d31ab9c0e44f1"}) {
    EXPECT_TRUE(looks_counted(text)) << text;
  }
  for (const char* text : {"Total 1,200", "Invoice", "\xe5\x90\x88\xe8\xae\xa1 12"}) {
    EXPECT_FALSE(looks_counted(text)) << text;
  }
  EXPECT_TRUE(looks_dated("2026-11-25T22:41:03Z"));
  EXPECT_FALSE(looks_dated("2026-11-25"));
}

}  // namespace
}  // namespace ocrtune
