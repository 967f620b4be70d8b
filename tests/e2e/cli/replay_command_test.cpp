// The command as a user types it: good tables, bad tables, and what machines read.
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

class Replay : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("replay"); }
  void TearDown() override { (void)remove_tree(folder_); }

  Ran replay(const std::string& table, std::vector<std::string> flags) {
    EXPECT_TRUE(write_file(folder_ + "/t.csv", table).ok());
    flags.insert(flags.begin(), {"replay", "--table", folder_ + "/t.csv"});
    return run_ocrtune(flags);
  }
  std::string folder_;
};

const char* const kHeader = "nproc,batch,width,samples_per_second,peak_bytes,outcome,noise_sigma\n";

std::string table_of_eight() {
  std::string text = std::string("# cores=4 memory_bytes=1000000\n") + kHeader;
  for (int n : {1, 2, 4, 8}) {
    for (int b : {8, 16}) {
      const bool fits = n * b <= 64;
      text += std::to_string(n) + "," + std::to_string(b) + ",a," +
              (fits ? std::to_string(10 * n + b) : "") + "," + std::to_string(15000 * n * b) +
              (fits ? ",ok" : ",out_of_memory") + ",0.01\n";
    }
  }
  return text;
}

TEST_F(Replay, FindsTheBestAndSaysSoToMachines) {
  const Ran said =
      replay(table_of_eight(), {"--trials", "20", "--repeat", "3", "--seed", "5", "--json"});
  ASSERT_EQ(said.code, 0) << said.out;
  const auto list = nlohmann::json::parse(said.out);
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(schema_fault("replay", list), "");
  for (int i = 0; i < 3; ++i) {
    const auto& one = list[static_cast<std::size_t>(i)];
    EXPECT_EQ(one["trials"], 20);
    EXPECT_EQ(one["seed"], 5 + i);
    EXPECT_GE(one["out_of_memory_trials"], 0);
  }
  EXPECT_EQ(list[0]["knobs"]["nproc"], 8);
  EXPECT_EQ(list[0]["knobs"]["batch"], 8);
  EXPECT_EQ(list[0]["knobs"]["width"], "a");
  EXPECT_EQ(list[0]["true_samples_per_second"], 88.0);
  EXPECT_NEAR(list[0]["claimed_samples_per_second"].get<double>(), 88.0, 3.0);
  EXPECT_EQ(list[0]["regret"], 0.0);
  EXPECT_LE(list[0]["out_of_memory_trials"], 1);
}

TEST_F(Replay, SaysHowSureItIs) {
  const Ran said = replay(table_of_eight(), {"--trials", "20"});
  ASSERT_EQ(said.code, 0) << said.out;
  EXPECT_THAT(said.out, HasSubstr("with 95 % probability no setting"));
}

TEST_F(Replay, SameSeedSameAnswer) {
  const std::vector<std::string> flags = {"--trials", "9", "--seed", "7", "--json"};
  EXPECT_EQ(replay(table_of_eight(), flags).out, replay(table_of_eight(), flags).out);
}

TEST_F(Replay, OnePointIsAnAnswer) {
  const Ran said =
      replay(std::string(kHeader) + "2,8,320,10.5,1000,ok,0\n", {"--trials", "5", "--json"});
  ASSERT_EQ(said.code, 0) << said.out;
  EXPECT_EQ(nlohmann::json::parse(said.out)[0]["regret"], 0.0);
}

TEST_F(Replay, BadTablesGetOneClearLine) {
  const std::string header = kHeader;
  const std::string row = "2,8,320,10.5,1000,ok,0\n";
  struct Case {
    std::string table, says;
  };
  for (const Case& bad : std::vector<Case>{
           {"", "empty"},
           {header, "no rows"},
           {"nproc,samples_per_second,peak_bytes,noise_sigma\n1,2,3,0\n",
            "column outcome is missing"},
           {"nproc,peak_bytes,outcome,noise_sigma\n1,2,ok,0\n", "samples_per_second is missing"},
           {"samples_per_second,peak_bytes,outcome,noise_sigma\n1,2,ok,0\n",
            "no column holds a knob"},
           {header + "2,8,320,nan,1000,ok,0\n", "line 2: samples_per_second 'nan'"},
           {header + "2,8,320,inf,1000,ok,0\n", "'inf'"},
           {header + "2,8,320,0,1000,ok,0\n", "samples_per_second 0"},
           {header + "2,8,320,10,-4,ok,0\n", "peak_bytes '-4'"},
           {header + "2,8,320,10,4,fine,0\n", "'fine' is not an outcome"},
           {header + "0,8,320,10,4,ok,0\n", "nproc=0"},
           {header + ",8,320,10,4,ok,0\n", "nproc is empty"},
           {header + "2,8,320,10,4,ok\n", "6 fields"},
           {header + row + row, "already on line 2"},
           {header + "2,8,320,0,1000,crashed,0\n", "every setting of the table failed"},
           {"# cores=none\n" + header + row, "cores=none"},
       }) {
    const Ran said = replay(bad.table, {"--trials", "5"});
    EXPECT_EQ(said.code, 3) << bad.says;
    EXPECT_EQ(std::count(said.out.begin(), said.out.end(), '\n'), 1) << said.out;
    EXPECT_THAT(said.out, HasSubstr(bad.says));
  }
}

TEST_F(Replay, WrongUse) {
  EXPECT_EQ(replay(table_of_eight(), {"--trials", "0"}).code, 2);
  EXPECT_EQ(replay(table_of_eight(), {"--trials", "many"}).code, 2);
  EXPECT_EQ(replay(table_of_eight(), {"--repeat", "0"}).code, 2);
  EXPECT_EQ(replay(table_of_eight(), {"--memory-margin", "-1"}).code, 2);
}

}  // namespace
}  // namespace ocrtune
