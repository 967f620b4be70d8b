// ocrtune p2p and the GPU part of ocrtune probe, over GPUs that a stub library describes.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/process.h"
#include "tests/support/ran.h"
#include "tests/support/schema_text.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// `more` adds variables; with OCRTUNE_FAKE_GPU among them a worker with faults takes the steps.
Ran run(const std::vector<std::string>& arguments, const std::string& box,
        const std::vector<std::pair<std::string, std::string>>& more = {}) {
  std::vector<std::pair<std::string, std::string>> environment = more;
  if (!box.empty()) {
    const std::string file = OCRTUNE_SOURCE_DIR + "/tests/fixtures/gpu_boxes/" + box + ".txt";
    environment.insert(environment.begin(), {{"OCRTUNE_NVML_PATH", OCRTUNE_NVML_STUB_LIBRARY},
                                             {"OCRTUNE_NVML_STUB", file}});
  }
  return run_ocrtune(arguments, environment);
}

TEST(P2pCommand, NoGpuIsAPlainAnswer) {
  for (const char* box : {"no-driver", "no-gpu"}) {
    const Ran said = run({"p2p"}, box);
    EXPECT_EQ(said.code, 0) << said.out;
    EXPECT_THAT(said.out, HasSubstr("no GPU: "));
    const auto json = nlohmann::json::parse(run({"p2p", "--json"}, box).out);
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
                        {"2x4090-old-driver", 3, "P2P could not be checked: "},
                        {"8xh100-nvswitch", 3, "0>1 0>2 0>3 0>4 0>5 0>6 and 50 more"},
                        {"one-lost-gpu", 0, "GPU 1: code 15"},
                        {"2x3090-broken-bridge", 1, "NVLINK_FAULT"},
                        {"a100-mig", 0, "one GPU has no peer"},
                        {"driver-mismatch", 3, "restart after a driver update"},
                        {"driver-crashes", 3, "SIGABRT"}};
  for (const Case& given : cases) {
    const Ran said = run({"p2p"}, given.box);
    EXPECT_EQ(said.code, given.code) << given.box << ": " << said.out;
    EXPECT_THAT(said.out, HasSubstr(given.says)) << given.box;
  }
}

TEST(P2pCommand, TheLadderFromFaultToProvedSetting) {
  const std::string folder = make_temporary_directory("p2p").value();
  ASSERT_TRUE(write_file(join_path(folder, "faults"), "copy mode=zeros\n"));
  const std::vector<std::pair<std::string, std::string>> fake = {
      {"OCRTUNE_GPU_WORKER", OCRTUNE_FAKE_GPU_WORKER},
      {"OCRTUNE_FAKE_GPU", join_path(folder, "faults")},
      {"OCRTUNE_FAKE_STATE", folder}};
  const Ran broken = run({"p2p"}, "2x4090-old-driver", fake);
  EXPECT_EQ(broken.code, 1) << broken.out;
  EXPECT_THAT(broken.out, HasSubstr("BROKEN, confidence medium"));
  EXPECT_THAT(broken.out, HasSubstr("Set         NCCL_P2P_DISABLE=1"));
  EXPECT_THAT(broken.out, HasSubstr("NCCL ran again with NCCL_P2P_DISABLE=1 and passed"));
  const auto json = nlohmann::json::parse(run({"p2p", "--json"}, "2x4090-old-driver", fake).out);
  EXPECT_EQ(json["env"]["NCCL_P2P_DISABLE"], "1");
  EXPECT_THAT(json["proof"].get<std::string>(), HasSubstr("SHM"));
  const Ran swept =
      run({"p2p", "--sweep", "--out", join_path(folder, "out")}, "2x4090-old-driver", fake);
  EXPECT_EQ(swept.code, 1);
  EXPECT_THAT(swept.out, HasSubstr("4 CTAs"));
  const std::string env = read_file(join_path(folder, "out/nccl.env")).value_or("");
  EXPECT_THAT(env, HasSubstr("export NCCL_P2P_DISABLE=1\nexport NCCL_MIN_CTAS=4\n"));
  EXPECT_THAT(env, HasSubstr("debugging variables"));
  const Ran facts = run({"p2p", "--static"}, "2x4090-old-driver", fake);
  EXPECT_EQ(facts.code, 0);
  EXPECT_THAT(facts.out, HasSubstr("INCONCLUSIVE"));
  static_cast<void>(remove_tree(folder));
}

TEST(P2pCommand, TheDocumentNamesEveryKey) {
  const std::string schema = read_file(OCRTUNE_SOURCE_DIR + "/docs/schema.md").value_or("");
  const auto p2p = nlohmann::json::parse(run({"p2p", "--json"}, "2x4090").out);
  EXPECT_EQ(schema_fault("p2p", p2p), "");
  const auto probe = nlohmann::json::parse(run({"probe", "--quick", "--json"}, "2x4090").out);
  EXPECT_EQ(schema_fault("probe", probe), "");
  for (const auto& [key, value] : probe["gpus"][0].items()) EXPECT_THAT(schema, HasSubstr(key));
  for (const char* key : {"gpu_links", "cuda_driver_version", "visible_gpus", "gpu_visibility"}) {
    EXPECT_TRUE(probe.contains(key)) << key;
    EXPECT_THAT(schema, HasSubstr("`" + std::string(key) + "`"));
  }
  EXPECT_EQ(probe["visible_gpus"][1]["uuid"], "GPU-4090-1");
}

TEST(P2pCommand, EveryRankTakesItsOwnGpu) {
  struct Case {
    std::vector<std::pair<std::string, std::string>> environment;
    int code;
    const char* says;
  };
  const Case cases[] = {
      {{{"LOCAL_RANK", "1"}, {"CUDA_VISIBLE_DEVICES", "3,2"}}, 0, "CUDA_VISIBLE_DEVICES=GPU-a40-2"},
      {{{"LOCAL_RANK", "4"}}, 3, "there is no GPU 4"},
      {{{"CUDA_VISIBLE_DEVICES", "0,1"}}, 2, "no rank is in the environment"},
      {{{"LOCAL_RANK", "0"}, {"CUDA_VISIBLE_DEVICES", "-1"}}, 3, "no GPU is visible"}};
  for (const Case& given : cases) {
    const Ran said =
        run({"rank-exec", "--gpu", "auto", "--", "env"}, "4xa40-pcie", given.environment);
    EXPECT_EQ(said.code, given.code) << said.out;
    EXPECT_THAT(said.out, HasSubstr(given.says));
  }
  EXPECT_EQ(run({"rank-exec", "--gpu", "0", "--", "env"}, "no-driver").code, 3);
}

TEST(P2pCommand, WrongDevicesAreNamed) {
  struct Case {
    std::vector<std::string> arguments;
    const char* visible;  // null: not set
    int code;
    const char* says;
  };
  const Case cases[] = {
      {{"p2p"}, "", 3, "CUDA_VISIBLE_DEVICES is empty: it hides every GPU"},
      {{"p2p"}, "-1", 3, "none is visible"},
      {{"p2p"}, "0,0", 3, "twice"},
      {{"p2p", "--gpus", "7"}, nullptr, 3, "there is no GPU 7; 2 GPUs are visible"},
      {{"p2p", "--gpus", "x"}, nullptr, 2, "'x' is no GPU id"},
      {{"p2p", "--gpus", "GPU-9"}, nullptr, 3, "no visible GPU has the UUID GPU-9"},
      {{"p2p", "--gpus", "1"}, nullptr, 0, "one GPU has no peer"},
      {{"p2p", "--soak", "soon"}, nullptr, 2, "soon"}};
  for (const Case& given : cases) {
    std::vector<std::pair<std::string, std::string>> more;
    if (given.visible != nullptr) more.emplace_back("CUDA_VISIBLE_DEVICES", given.visible);
    const Ran said = run(given.arguments, "2x4090-old-driver", more);
    EXPECT_EQ(said.code, given.code) << given.says << ": " << said.out;
    EXPECT_THAT(said.out, HasSubstr(given.says));
  }
  const Ran busy = run({"p2p"}, "2x3090-busy");
  EXPECT_EQ(busy.code, 3);
  EXPECT_THAT(busy.out, HasSubstr("--force"));
}

TEST(P2pCommand, JsonNamesEveryPair) {
  const Ran said = run({"p2p", "--json"}, "4xa40-pcie");
  EXPECT_EQ(said.code, 3) << "not checked is not fine";
  const auto json = nlohmann::json::parse(said.out);
  ASSERT_EQ(json["pairs"].size(), 12U);
  EXPECT_EQ(json["pairs"][0]["level"], "PXB");
  EXPECT_TRUE(json["pairs"][0]["copy_bytes_per_second"].is_null());
  for (const auto& pair : json["pairs"]) {
    EXPECT_EQ(pair["verdict"], "INCONCLUSIVE");
    EXPECT_FALSE(pair["evidence"].empty());
    EXPECT_FALSE(pair["not_checked"].empty());
  }
}

TEST(P2pCommand, TheMachineCardShowsTheGpus) {
  const Ran card = run({"probe", "--quick"}, "8xh100-nvswitch");
  EXPECT_EQ(card.code, 0);
  EXPECT_THAT(card.out, HasSubstr("8 GPUs, driver 550.54.15"));
  EXPECT_THAT(card.out, HasSubstr("8 x NVIDIA H100 80GB HBM3, 79.6 GiB"));
  EXPECT_THAT(card.out, HasSubstr("0 1 2 3 4 5 6: PCIe 5 x16, 18 NVLinks\n"));
  EXPECT_THAT(card.out,
              HasSubstr("7: PCIe 5 x16, 18 NVLinks, 1980 MHz, 700 W, ECC on, persistence on\n"));
  EXPECT_THAT(card.out, HasSubstr("7: 1 process, 1.0 MiB used, 345 MHz, 72 W, 31 C\n"));
  EXPECT_THAT(card.out, HasSubstr("P2P INCONCLUSIVE"));
  EXPECT_THAT(card.out, Not(HasSubstr("noise")));
  EXPECT_LE(std::count(card.out.begin(), card.out.end(), '\n'), 25);
  const auto json = nlohmann::json::parse(run({"probe", "--quick", "--json"}, "2x4090").out);
  EXPECT_EQ(json["gpus"].size(), 2U);
  EXPECT_EQ(json["p2p"]["verdict"], "UNSUPPORTED");
}

}  // namespace
}  // namespace ocrtune
