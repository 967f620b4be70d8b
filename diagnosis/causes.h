// Why runs fail: one table of causes, each with what it means, what would prove it and what to do.
//
// Log signatures (diagnosis/signatures/signatures.h), exit codes and kernel evidence all point into
// this table; its names are the ones that `diagnose --json`, the store and the reports carry.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ocrtune {

enum class CauseKind {
  failure,   // it ends or spoils the run
  slowness,  // the run is right but slower than it need be
};

// The next safer setting that a supervised run may try by itself.
enum class Remedy {
  none,           // nothing that a restart could change: a person must act
  retry,          // the same setting again, from the last checkpoint
  fewer_workers,  // loader workers hold the memory or the descriptors
  smaller_batch,
  fewer_ranks,
  fewer_threads,
  p2p_off,
  longer_timeout,
};

struct CauseRow {
  const char* name;                 // "host_out_of_memory"
  const char* meaning;              // one or two sentences for the user
  const char* confirm;              // a command or an observation that would settle it
  std::vector<const char*> fixes;   // commands or settings, the most likely one first
  const char* outcome = "crashed";  // the outcome_name() of a trial that ends so (trial/trial.h)
  CauseKind kind = CauseKind::failure;
  Remedy remedy = Remedy::none;
};

// Of rows of text (base/tables/rows.h): name, outcome, remedy and meaning, then, each behind a
// double bar, what would confirm it, where that is more than its own line, and fixes, the most
// likely first.
const std::vector<CauseRow>& cause_table();
const CauseRow& find_cause(std::string_view name);  // the row "unknown" when there is none
std::string_view remedy_name(Remedy remedy);

// The parts of a row between such marks.
std::vector<std::string> split_at(std::string_view text, std::string_view mark);

// Is the word in a list between blanks?
bool listed(std::string_view list, std::string_view word);

}  // namespace ocrtune
