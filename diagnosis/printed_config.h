// The configuration that PaddleOCR prints into its log before the first step.
//
//   [2025/01/01 10:00:00] ppocr INFO:     loader :
//   [2025/01/01 10:00:00] ppocr INFO:         num_workers : 8
//
// Source: PaddleOCR's tools/program.py, print_dict: four blanks a level, lists are left out.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ocrtune {

class PrintedConfig {
 public:
  void take_line(std::string_view line);
  // "Train.loader.num_workers" -> "8": only keys of Global, Train and Eval.
  const std::map<std::string, std::string>& values() const { return values_; }

 private:
  std::vector<std::pair<std::size_t, std::string>> path_;  // indent and key of the open mappings
  std::map<std::string, std::string> values_;
};

}  // namespace ocrtune
