// Collections of failure logs, told anew from real ones, each with the causes that a reader of it
// would accept.
//
//   === name -> cause|other_cause then consequence other_consequence
//   --- workerlog.0
//   its lines
//   --- exit 137
//   --- who rank 3
//   --- first words of the first fix
//   --- says words that the evidence of the first cause must show
//
// "none" stands for a healthy log. A case without a "---" line is one file, "log".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "diagnosis/diagnosis.h"

namespace ocrtune {

struct RetoldLog {
  std::string name;
  std::vector<std::string> accepted;   // first causes, the best one first; "none": healthy
  std::vector<std::string> followers;  // causes that follow from it and must not come first
  std::vector<std::pair<std::string, std::string>> files;  // name and text
  FailureEvidence evidence;
  std::string who;    // "rank 3", "nobody"; empty: not asked
  std::string first;  // words of the first fix
  std::string says;   // words of the log that say why; empty: not asked
};

Result<std::vector<RetoldLog>> read_retold_logs(const std::string& path);

Diagnosis diagnose_retold(const RetoldLog& log);

// Does the evidence of the first cause show the words that say why?
bool shows_why(const RetoldLog& log, const Diagnosis& diagnosis);

// The failure that the diagnosis puts first, else the slowness (above 0.3), else "none".
std::string first_answer(const Diagnosis& diagnosis);

}  // namespace ocrtune
