// Are the configurations of all nodes and ranks the same where training needs them to be?
//
// Nothing in Paddle's or PyTorch's start-up compares them: a wrong batch size or dictionary on one
// node trains without a word into worse weights, a wrong model hangs in the first all-reduce. Each
// rule says what its difference does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "extras/consistency/config_difference.h"
#include "extras/consistency/flat_config.h"

namespace ocrtune {

enum class Demand {
  equal,       // a difference breaks or spoils training
  different,   // the same value twice breaks the start (ranks)
  local,       // may differ from node to node
  same_files,  // the value names files whose contents must be equal
};

// The first rule whose pattern fits a key holds. `*` stands for any run of characters.
struct ConsistencyRule {
  const char* pattern;
  Demand demand;
  const char* effect;  // of a difference (or of sameness), on training
};

const std::vector<ConsistencyRule>& consistency_rules();
const ConsistencyRule& rule_for(const std::string& key);

// What PaddleOCR (tools/program.py, ppocr/data) takes for an absent key; none: nothing is known.
std::optional<std::string> default_of(const std::string& key);

// What a named file holds, regardless of its line ends and of an end of line at its end.
struct FileContent {
  std::uint64_t hash = 0;  // FNV-1a
  std::int64_t lines = 0;
};
std::string content_text(const FileContent& content);  // "00ff... 6625": hash and lines

// Of the file that a value of this config names: as collected on its node, else as it is found
// beside the config or here. Nothing: neither.
std::optional<FileContent> content_of(const std::string& value, const FlatConfig& config);

struct ConsistencyOptions {
  std::vector<int> nproc;       // processes on each node; one number stands for all; empty: unknown
  std::optional<int> lr_nproc;  // the number of processes that the learning rate was chosen for
};

struct Consistency {
  std::vector<ConfigDifference> differences;  // that training does not bear
  std::vector<ConfigDifference> local;        // that it does
  std::vector<std::string> notes;
  bool consistent() const { return differences.empty(); }
};

// usage: nproc has neither one number nor one for each config. Reads the files that the configs
// name, where they are there.
Result<Consistency> compare_configs(const std::vector<FlatConfig>& configs,
                                    const ConsistencyOptions& options);

}  // namespace ocrtune
