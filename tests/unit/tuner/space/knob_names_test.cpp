#include <gtest/gtest.h>

#include "tuner/space/space.h"

namespace ocrtune {
namespace {

std::string refusal(const std::string& name, const std::vector<std::string>& command = {}) {
  const Status known = check_knob_names(*parse_knobs({name + "=2"}), {"flavour"}, command);
  return known ? "" : known.error().what;
}

TEST(KnobNames, KnobsAndTheUsersOwnAreKnown) {
  EXPECT_EQ(refusal("threads"), "");
  EXPECT_EQ(refusal("flavour"), "");
  EXPECT_EQ(refusal("rate", {"train.py", "--lr={rate}"}), "");
}

TEST(KnobNames, MistypedOneIsRefusedWithTheNearest) {
  EXPECT_NE(refusal("thread").find("did you mean threads?"), std::string::npos);
  EXPECT_NE(refusal("flavor").find("did you mean flavour?"), std::string::npos);
  EXPECT_EQ(refusal("zzzzzzzz"), "no knob zzzzzzzz; `ocrtune list knobs` shows them");
}

}  // namespace
}  // namespace ocrtune
