#include "diagnosis/signatures.h"

#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "diagnosis/causes.h"
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
    EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    EXPECT_STREQ(find_cause(row.cause).name, row.cause) << row.id;
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
    const auto matches = match_line(text);
    EXPECT_TRUE(std::any_of(matches.begin(), matches.end(),
                            [&](const auto& match) { return id == match.signature->id; }))
        << id << " does not match: " << text;
  }
  for (const SignatureRow& row : signature_table()) {
    EXPECT_TRUE(seen.count(row.id)) << row.id << " has no example in tests/fixtures/logs/lines.txt";
  }
}

TEST(Signatures, HealthyLinesMatchNothingThatFails) {
  for (const std::string& line : split(fixture("healthy.txt"), '\n')) {
    for (const SignatureMatch& match : match_line(line)) {
      const Role role = match.signature->role;
      EXPECT_TRUE(role == Role::note || role == Role::activity || role == Role::finish)
          << match.signature->id << ": " << line;
    }
  }
}

}  // namespace
}  // namespace ocrtune
