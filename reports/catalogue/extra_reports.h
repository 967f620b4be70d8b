// What the extras of this build (extras/) add to the reports: words, and documents beside a run.
// cmake/extras.cmake writes the list.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace ocrtune {

struct Phrase;  // phrases.h

// What a command prints with --json, as a section of a run's page.
struct DocumentRow {
  const char* command;                       // "plan"
  std::vector<const char*> keys;             // no other document has all of them
  std::pair<const char*, const char*> mark;  // the section's id, the phrase of its jump mark
  std::string (*section)(const nlohmann::json& document);
};

struct ExtraReports {
  const std::vector<Phrase>& (*phrases)() = nullptr;  // null: none of its own
  std::vector<DocumentRow> documents;
};

const std::vector<ExtraReports>& extra_reports();

}  // namespace ocrtune
