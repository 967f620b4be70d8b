// ocrtune p2p and the GPU part of ocrtune probe, over GPUs that a stub library describes.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/process.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Said {
  int code = -1;
  std::string text;
};

Said run(std::vector<std::string> arguments, const std::string& box) {
  ProcessOptions options;
  options.arguments = {OCRTUNE_BINARY};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  if (!box.empty()) {
    options.environment = {
        {"OCRTUNE_NVML_PATH", OCRTUNE_NVML_STUB_LIBRARY},
        {"OCRTUNE_NVML_STUB", OCRTUNE_SOURCE_DIR + "/tests/probes/gpu_boxes/" + box + ".txt"}};
  }
  auto process = Process::start(options);
  if (!process) return Said{-1, process.error().what};
  const auto& exit = process->wait(60);
  if (!exit || exit->signal != 0) return Said{-2, process->output().contents()};
  return Said{exit->code, process->output().contents()};
}

TEST(P2pCommand, NoGpuIsAPlainAnswer) {
  for (const char* box : {"no-driver", "no-gpu"}) {
    const Said said = run({"p2p"}, box);
    EXPECT_EQ(said.code, 0) << said.text;
    EXPECT_THAT(said.text, HasSubstr("no GPU: "));
    const auto json = nlohmann::json::parse(run({"p2p", "--json"}, box).text);
    EXPECT_EQ(json["pairs"], nlohmann::json::array());
    EXPECT_EQ(json["env"], nlohmann::json::object());
    EXPECT_EQ(json["verdict"], "NOT_APPLICABLE");
  }
}

TEST(P2pCommand, VerdictsAndExitCodes) {
  struct Case {
    const char* box;
    int code;
    const char* says;
  };
  const Case cases[] = {{"2x4090", 0, "UNSUPPORTED"},
                        {"2x4090-old-driver", 0, "INCONCLUSIVE"},
                        {"8xh100-nvswitch", 0, "0>1 0>2 0>3 0>4 0>5 0>6 and 50 more"},
                        {"2x3090-broken-bridge", 1, "NVLINK_FAULT"},
                        {"a100-mig", 0, "one GPU has no peer"},
                        {"driver-mismatch", 3, "restart after a driver update"},
                        {"driver-crashes", 3, "SIGABRT"}};
  for (const Case& given : cases) {
    const Said said = run({"p2p"}, given.box);
    EXPECT_EQ(said.code, given.code) << given.box << ": " << said.text;
    EXPECT_THAT(said.text, HasSubstr(given.says)) << given.box;
  }
}

TEST(P2pCommand, JsonNamesEveryPair) {
  const auto json = nlohmann::json::parse(run({"p2p", "--json"}, "4xa40-pcie").text);
  ASSERT_EQ(json["pairs"].size(), 12U);
  for (const auto& pair : json["pairs"]) {
    EXPECT_EQ(pair["verdict"], "INCONCLUSIVE");
    EXPECT_FALSE(pair["evidence"].empty());
    EXPECT_FALSE(pair["not_checked"].empty());
  }
}

TEST(P2pCommand, TheMachineCardShowsTheGpus) {
  const Said card = run({"probe", "--quick"}, "8xh100-nvswitch");
  EXPECT_EQ(card.code, 0);
  EXPECT_THAT(card.text, HasSubstr("8 GPUs, driver 550.54.15"));
  EXPECT_THAT(card.text, HasSubstr("8 x NVIDIA H100 80GB HBM3, 79.6 GiB"));
  EXPECT_THAT(card.text, HasSubstr("P2P INCONCLUSIVE"));
  EXPECT_THAT(card.text, Not(HasSubstr("noise")));
  EXPECT_LE(std::count(card.text.begin(), card.text.end(), '\n'), 25);
  const auto json = nlohmann::json::parse(run({"probe", "--quick", "--json"}, "2x4090").text);
  EXPECT_EQ(json["gpus"].size(), 2U);
  EXPECT_EQ(json["p2p"]["verdict"], "UNSUPPORTED");
}

}  // namespace
}  // namespace ocrtune
