// Commands in the test bed of scripts/hosts: several hosts on this machine.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/process.h"
#include "tests/support/paths.h"

namespace ocrtune {

struct BedSaid {
  int code = -1;
  std::string text;
};

inline ProcessOptions in_bed(const std::vector<std::string>& hosts, const std::string& script) {
  ProcessOptions options;
  options.arguments = {std::string(OCRTUNE_SOURCE_DIR) + "/scripts/hosts"};
  options.arguments.insert(options.arguments.end(), hosts.begin(), hosts.end());
  for (const std::string& word :
       {std::string("--"), std::string("sh"), std::string("-c"), script}) {
    options.arguments.push_back(word);
  }
  options.environment = {{"OCRTUNE", OCRTUNE_BINARY}};
  options.output_bytes = 4 << 20;
  return options;
}

inline BedSaid run_in_bed(const std::vector<std::string>& hosts, const std::string& script,
                          double max_seconds = 120) {
  auto process = Process::start(in_bed(hosts, script));
  if (!process) return {-1, process.error().what};
  const auto& exit = process->wait(max_seconds);
  return {exit ? exit->code : -1, process->output().contents()};
}

// Of the answer of `tune --json`: the counts of hosts that gave a rate.
inline std::set<std::string> measured_nodes(const nlohmann::json& answer) {
  std::set<std::string> measured;
  for (const nlohmann::json& setting : answer["settings"]) {
    if (setting["outcome"] == "ok") measured.insert(setting["knobs"]["dims"]["nodes"]);
  }
  return measured;
}

// "" where the bed works; else why not, for GTEST_SKIP.
inline std::string no_bed() {
  static const BedSaid said = run_in_bed({"a", "b"}, "ssh b true");
  return said.code == 0 ? "" : "no test bed of hosts here: " + said.text;
}

// A folder of its own for each test; skipped where there is no bed.
class HostBedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_bed(); !why.empty()) GTEST_SKIP() << why;
    folder_ = *make_temporary_directory("hosts-test");
  }
  void TearDown() override {
    if (folder_.empty()) return;  // skipped
    EXPECT_TRUE(remove_tree(folder_));
  }

  std::string folder_;
};

}  // namespace ocrtune
