// Machines that nobody here has: tests/fixtures/cards/*.card, each a tree and what must be found in
// it, after what their owners showed in public.
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "probes/machine/machine_json.h"
#include "probes/probe.h"
#include "tests/support/machine_card.h"

namespace ocrtune {
namespace {

std::string cards_folder() { return std::string(OCRTUNE_SOURCE_DIR) + "/tests/fixtures/cards"; }

std::vector<std::string> card_names() {
  std::vector<std::string> names;
  const auto files = list_directory(cards_folder());
  if (!files) return names;
  for (const std::string& file : *files) {
    if (ends_with(file, ".card")) names.push_back(file.substr(0, file.size() - 5));
  }
  return names;
}

class Cards : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    // Thousands of small files: in memory where there is a place for them.
    std::string pattern = (is_directory("/dev/shm") ? "/dev/shm" : ::testing::TempDir()) +
                          std::string("/ocrtune-card.XXXXXX");
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr) << pattern;
    folder_ = pattern;
    card_ =
        read_card(GetParam(), read_file(cards_folder() + "/" + GetParam() + ".card").value_or(""));
    write_tree(card_, folder_);
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_).ok()); }

  MachineCard card_;
  std::string folder_;
};

TEST_P(Cards, AreReadAsTheirMachinesAre) {
  ProbeOptions options;
  options.root = folder_;
  const auto machine = probe_machine(options);
  ASSERT_TRUE(machine) << machine.error().what;
  const std::string json = machine_json(*machine);
  ASSERT_FALSE(card_.expectations.empty());
  for (const std::string& line : unmet(card_, json)) ADD_FAILURE() << line;
  const auto back = parse_machine_json(json);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(machine_json(*back), json);
}

INSTANTIATE_TEST_SUITE_P(All, Cards, ::testing::ValuesIn(card_names()), [](const auto& card) {
  std::string name = card.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

TEST(CardFolder, HoldsMachines) { EXPECT_GE(card_names().size(), 120U); }

}  // namespace
}  // namespace ocrtune
