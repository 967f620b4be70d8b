#include "trial/workloads/engine_train/worker_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using testing::HasSubstr;

TEST(WorkerSpec, SurvivesItsText) {
  WorkerSpec spec;
  spec.model = "svtr";
  spec.threads = 3;
  spec.label_file = "/data/a \"b\"/labels.txt";
  spec.alphabet = "0123\xE4\xBD\xA0";
  spec.place = {1, 4, 1, 4, 0, 1};
  spec.segment = "/ocrtune-1";
  spec.seed = 1ULL << 60;
  spec.check = false;
  spec.run_seconds = 2.5;
  const auto again = parse_spec(spec_text(spec));
  ASSERT_TRUE(again.ok()) << again.error().what;
  EXPECT_EQ(spec_text(*again), spec_text(spec));
  EXPECT_EQ(again->alphabet, spec.alphabet);
  EXPECT_EQ(again->place.rank, 1);
  EXPECT_EQ(spec_text(spec).find('\n'), std::string::npos);
}

TEST(WorkerSpec, NamesWhatIsWrong) {
  const std::pair<const char*, const char*> rows[] = {
      {"", "not a JSON object"},
      {"[1]", "not a JSON object"},
      {R"({"batch":"8"})", "bad value of 'batch'"},
      {R"({"batch":1e12})", "bad value of 'batch'"},
      {R"({"batch":-1})", "bad value of 'batch'"},
      {R"({"batches":8})", "unknown field 'batches'"},
      {R"({"threads":0})", "must be positive"},
      {R"({"rank":2,"world_size":2})", "no rank 2 of 2"},
      {R"({"rank":0,"world_size":2})", "segment"},
      {R"({"check":1})", "bad value of 'check'"},
  };
  for (const auto& [text, what] : rows) {
    const auto spec = parse_spec(text);
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_EQ(spec.error().kind, ErrorKind::usage);
    EXPECT_THAT(spec.error().what, HasSubstr(what)) << text;
  }
}

}  // namespace
}  // namespace ocrtune
