// The lines by which failures are known: one table of patterns, each pointing to a cause.
//
// To teach `diagnose` a new failure is to add a row: a line with its id, cause, role, weight and
// pattern, a blank between. Patterns are RE2 syntax, unanchored, and are matched against one line
// without its line end; keep a literal of five or more letters in each, so that the scanner's
// prefilter can pass over healthy lines.
#pragma once

#include <string_view>
#include <vector>

namespace ocrtune {

// How a line bears on the verdict. The earliest primary line wins over everything below it.
enum class Role {
  proof,        // kernel, batch system or memory guard: says who killed whom
  primary,      // a root cause in its own words
  at_end,       // primary, but only if the log ends there without progress
  symptom,      // mostly a witness of another process's death; a cause if nothing else is found
  generic,      // something failed; says little about why
  consequence,  // the clean-up after a failure: never a cause
  note,         // worth knowing, no failure
  activity,     // what a rank did alone: evaluation, an index, no step. A cause if others waited
  finish,       // the program says that it came to its end
};

struct SignatureRow {
  std::string_view id;     // stable, unique: "worker_sigkill"
  std::string_view cause;  // in cause_table()
  Role role;
  double weight;  // probability of the cause, given this line alone
  std::string_view pattern;
};

const std::vector<SignatureRow>& signature_table();
// Its parts, a file each; the order of rows has no meaning. "#" begins a remark.
extern const std::string_view kSystemSignatures, kFrameworkSignatures, kProgramSignatures;

std::string_view role_name(Role role);
// 4 who killed whom, 3 a root cause in its own words, 2 a symptom, 1 says little, 0 no cause.
int tier(Role role);

}  // namespace ocrtune
