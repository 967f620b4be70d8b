// A configuration file as a flat map from dotted keys to values written in one way.
//
// YAML and JSON (PaddleOCR's configs), lists of environment variables (NAME=value) and lists of
// package versions (name==version). Order, comments, anchors, quoting style and the spelling of
// numbers leave no trace: 1e-3 and 0.001 are one value.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

struct FlatConfig {
  std::string name;       // of the node: the file as it was given, or the folder's name
  std::string directory;  // where relative paths may be meant from
  // "Train.loader.batch_size_per_card" -> "128", "Train.dataset.transforms[DecodeImage].img_mode"
  // -> "BGR", "env.NCCL_P2P_DISABLE" -> "1", "version.paddlepaddle" -> "3.0.0". A list whose
  // entries have names is keyed by them, and has "Train.dataset.transforms[]" -> "DecodeImage,
  // RecAug" too; any other list is keyed by position.
  std::map<std::string, std::string> values;
  // Of files that the values name, as their node saw them: name -> hash and lines.
  std::map<std::string, std::string> contents{};
};

// Behind the key of a list: the names of its entries in their order, with ", " between them.
inline constexpr const char* kListNames = "[]";

// Among a node's collected files (consistency/node_collection.h): lines "hash lines name".
inline constexpr const char* kContentsFile = "contents.txt";

// What a scalar is compared by: numbers in shortest form, booleans and nulls in one spelling. A
// quoted scalar that would read as another type keeps its quotes.
std::string normal_scalar(const std::string& text, bool quoted);

// invalid: syntax errors, keys given twice in one mapping, more than 200,000 values; `what` names
// file and line.
Result<std::map<std::string, std::string>> flatten_yaml(const std::string& text,
                                                        const std::string& file);

// By its looks: NAME=value lines, name==version lines, else YAML.
Result<FlatConfig> read_flat_config(const std::string& path);

// The nodes of a folder: each sub-folder with files of these kinds is one node, all its files
// together; where there is none, each file is a node.
Result<std::vector<FlatConfig>> read_config_folder(const std::string& path);

}  // namespace ocrtune
