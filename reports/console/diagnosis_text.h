// A diagnosis as text for a terminal and as JSON.
#pragma once

#include <string>

#include "diagnosis/diagnosis.h"

namespace ocrtune {

// What happened, then `causes` best first, each with its evidence lines, what would confirm it and
// the fixes, then the commands that tell the first suspects apart. `language`: en | zh.
std::string diagnosis_text(const Diagnosis& diagnosis, const std::string& language = "en");

// {"failed", "causes": [{"cause", "kind", "confidence", "meaning", "evidence": [{"file", "line",
// "text"}], "confirm", "fixes", "signatures"}], "story": [{"event", "ranks", "file", "cause",
// "text", "second_of_year", "waited_seconds", "raised_at"}], "next_steps": [{"between", "command",
// "outcomes": {cause: what the command shows}}], "consequences", "notes", "logs": [...]}
std::string diagnosis_json(const Diagnosis& diagnosis, const std::vector<LogScan>& logs);

}  // namespace ocrtune
