// One suspect of a diagnosis, with what speaks for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnosis/causes.h"
#include "diagnosis/signatures.h"

namespace ocrtune {

// The `file` of evidence that is the exit code itself.
inline constexpr const char* kProcessEnd = "process end";

struct EvidenceLine {
  std::string file;       // or kProcessEnd, "counters"
  std::int64_t line = 0;  // 0: not from a file
  std::string text;
};

struct Cause {
  const CauseRow* row = nullptr;
  double confidence = 0;  // 0..1: that this is what ended the run
  Role role = Role::generic;
  std::vector<EvidenceLine> evidence;  // the strongest first
  std::vector<std::string> signatures;
};

}  // namespace ocrtune
