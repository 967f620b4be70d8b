#include "diagnosis/signatures/signatures.h"

#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "diagnosis/causes.h"
#include "diagnosis/context/line_origin.h"
#include "diagnosis/log_matcher.h"

namespace ocrtune {
namespace {

std::string fixture(const std::string& name) {
  return *read_file(std::string(OCRTUNE_SOURCE_DIR) + "/tests/fixtures/logs/" + name);
}

TEST(Signatures, CompileAndHaveALiteral) { EXPECT_THAT(unsound_patterns(), testing::IsEmpty()); }

TEST(Signatures, PointToCausesAndAreUnique) {
  std::set<std::string> ids;
  for (const SignatureRow& row : signature_table()) {
    EXPECT_TRUE(ids.emplace(row.id).second) << row.id;
    EXPECT_EQ(find_cause(row.cause).name, row.cause) << row.id;
    EXPECT_GT(row.weight, 0) << row.id;
    EXPECT_LT(row.weight, 1) << row.id;
  }
}

TEST(Signatures, EachMatchesItsExample) {
  std::set<std::string> seen;
  for (const std::string& line : split(fixture("lines.txt"), '\n')) {
    const std::size_t bar = line.find(" | ");
    if (bar == std::string::npos) continue;
    const std::string id = line.substr(0, bar), text = line.substr(bar + 3);
    seen.insert(id);
    EXPECT_TRUE(may_match(text)) << id << ": " << text;
    const auto matches = match_line(text, origin_of(text).text);
    EXPECT_TRUE(std::any_of(matches.begin(), matches.end(),
                            [&](const auto& match) { return id == match.signature->id; }))
        << id << " does not match: " << text;
  }
  for (const SignatureRow& row : signature_table()) {
    EXPECT_TRUE(seen.count(std::string(row.id)))
        << row.id << " has no example in tests/fixtures/logs/lines.txt";
  }
}

// What a training prints most must not reach the patterns: that would cost the most by far.
TEST(Signatures, StepsDoNotPassThePrefilter) {
  for (const char* step :
       {"[2025/01/01 10:00:00] ppocr INFO: epoch: [3/500], global_step: 1210, lr: 0.000987, acc: "
        "0.512, norm_edit_dis: 0.71, loss: 11.1, avg_reader_cost: 0.00010 s, avg_batch_cost: "
        "0.21 s, avg_samples: 64.0, ips: 232.4 samples/s, eta: 9:31:10, max_mem_reserved: 5120 "
        "MB, max_mem_allocated: 4411 MB",
        "Epoch 10:  93%|#########3| 18626/20000 [5:43:21<25:19,  0.90it/s, train_loss=3.970]",
        "{'loss': 1.21, 'grad_norm': 0.8, 'learning_rate': 1e-05, 'epoch': 0.31}",
        "INFO:     10.0.0.3:41122 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK"}) {
    EXPECT_FALSE(may_match(step)) << step;
  }
}

TEST(Signatures, HealthyLinesMatchNothingThatFails) {
  for (const std::string& line : split(fixture("healthy.txt"), '\n')) {
    for (const SignatureMatch& match : match_line(line, origin_of(line).text)) {
      const Role role = match.signature->role;
      EXPECT_TRUE(role == Role::note || role == Role::activity || role == Role::finish)
          << match.signature->id << ": " << line;
    }
  }
}

}  // namespace
}  // namespace ocrtune
