#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "tests/support/ran.h"
#include "tests/support/schema_text.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

const std::string kConfigs = std::string(OCRTUNE_SOURCE_DIR) + "/tests/fixtures/configs/";

Ran run_check(const std::string& arguments) {
  return run_line(OCRTUNE_BINARY + " check " + arguments + " 2>&1");
}

TEST(CheckCommand, EqualConfigsAreFine) {
  const auto [code, out] = run_check(kConfigs + "node0.yml " + kConfigs + "node0_again.yml");
  EXPECT_EQ(code, 0) << out;
  EXPECT_THAT(out, HasSubstr("Consistent: 2 configurations"));
}

TEST(CheckCommand, DifferencesAreTheAnswerNo) {
  const std::string a = kConfigs + "node0.yml", b = kConfigs + "node1_wrong.yml";
  const auto [code, out] = run_check(a + " " + b + " --json");
  EXPECT_EQ(code, 1);
  const auto json = nlohmann::json::parse(out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << out;
  EXPECT_EQ(schema_fault("check", json), "");
  for (const auto& difference : json.at("differences")) {
    EXPECT_FALSE(difference.at("effect").get<std::string>().empty());
    if (difference.at("key") == "Train.sampler.first_bs") {
      EXPECT_EQ(difference.at("values").at(b), "128");
    }
  }
}

TEST(CheckCommand, AFolderOfNodes) {
  const std::string folder = *make_temporary_directory("check");
  for (const std::string node : {"n0", "n1"}) {
    const std::string own = join_path(folder, node);
    ASSERT_TRUE(make_directories(own));
    ASSERT_TRUE(write_file(join_path(own, "rec.yml"), "Global: {seed: 1}\n"));
    ASSERT_TRUE(write_file(join_path(own, "env.txt"), "RANK=0\nHOSTNAME=" + node + "\n"));
    ASSERT_TRUE(write_file(join_path(own, "versions.txt"),
                           "paddlepaddle==3." + node.substr(1) + "\ntqdm==4\n"));
  }
  const auto [code, out] = run_check(folder);
  EXPECT_EQ(code, 1);
  EXPECT_THAT(out, HasSubstr("env.RANK"));
  EXPECT_THAT(out, HasSubstr("version.paddlepaddle"));
  EXPECT_THAT(out, HasSubstr("2 differences"));
  ASSERT_TRUE(remove_tree(folder));
}

TEST(CheckCommand, NodesCollectThemselvesAndAreCompared) {
  const std::string folder = *make_temporary_directory("collect");
  const std::string all = join_path(folder, "all");
  const auto collect = [&](const std::string& host, const std::string& dict,
                           const std::string& batch, const std::string& variable) {
    const std::string own = join_path(folder, host);
    EXPECT_TRUE(make_directories(own));
    EXPECT_TRUE(write_file(join_path(own, "dict.txt"), dict));
    EXPECT_TRUE(write_file(join_path(own, "rec.yml"),
                           "Global: {character_dict_path: dict.txt}\n"
                           "Train: {loader: {batch_size_per_card: " +
                               batch + "}}\n"));
    const std::string command = "env " + variable + " MY_SECRET=x " + OCRTUNE_BINARY +
                                " check --collect " + all + " --host " + host + " " + own +
                                "/rec.yml >/dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0);  // NOLINT(cert-env33-c)
    EXPECT_TRUE(remove_tree(own));               // nothing but what was collected is compared
  };
  collect("n0", "a\nb\n", "1_28", "NCCL_ALGO=Ring");
  collect("n1", "a\r\nb", "128", "NCCL_ALGO=Ring");
  EXPECT_THAT(*read_file(all + "/n0/env.txt"), HasSubstr("NCCL_ALGO=Ring\n"));
  EXPECT_EQ(read_file(all + "/n0/env.txt")->find("MY_SECRET"), std::string::npos);
  EXPECT_THAT(*read_file(all + "/n0/versions.txt"), HasSubstr("python==3"));
  const auto [same, fine] = run_check(all);
  EXPECT_EQ(same, 0) << fine;
  collect("n1", "a\nc\n", "128", "NCCL_ALGO=Tree");
  const auto [other, told] = run_check(all);
  EXPECT_EQ(other, 1) << told;
  EXPECT_THAT(told, HasSubstr("character_dict_path"));
  EXPECT_THAT(told, HasSubstr("env.NCCL_ALGO"));
  EXPECT_THAT(told, HasSubstr("2 differences"));
  EXPECT_EQ(run_check("--collect " + all + " --host ../x " + kConfigs + "node0.yml").code, 2);
  EXPECT_EQ(run_check("--collect " + all + " /nowhere.yml").code, 3);
  EXPECT_TRUE(remove_tree(folder));
}

TEST(CheckCommand, OneConfigurationAloneIsNoAllClear) {
  const auto [alone, what] = run_check(kConfigs + "node0.yml");
  EXPECT_EQ(alone, 2);
  EXPECT_THAT(what, HasSubstr("nothing to compare it with"));
  EXPECT_EQ(run_check(kConfigs + "node0.yml --nproc 2").code, 0);
}

TEST(CheckCommand, OneDifferenceIsSingular) {
  const std::string folder = *make_temporary_directory("check");
  ASSERT_TRUE(write_file(join_path(folder, "a.yml"), "Loss: {l: [NRTRLoss: ]}\nseed: 1\n"));
  ASSERT_TRUE(write_file(join_path(folder, "b.yml"), "Loss: {l: [NRTRLoss: ]}\nseed: 2\n"));
  const auto [code, out] = run_check(folder);
  EXPECT_EQ(code, 1);
  EXPECT_THAT(out, HasSubstr("INCONSISTENT: 1 difference that breaks training."));
  ASSERT_TRUE(remove_tree(folder));
}

TEST(CheckCommand, BadInputIsOneLine) {
  const auto [missing, what] = run_check("/nowhere.yml");
  EXPECT_EQ(missing, 3);
  EXPECT_EQ(what, "ocrtune check: open /nowhere.yml: No such file or directory\n");
  EXPECT_EQ(run_check("").code, 2);
  EXPECT_EQ(run_check(kConfigs + "node0.yml --nproc two").code, 2);
  EXPECT_EQ(run_check(kConfigs + "node0.yml " + kConfigs + "node0.yml").code, 2);
}

}  // namespace
}  // namespace ocrtune
