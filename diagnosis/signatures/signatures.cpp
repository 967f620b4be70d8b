// The table is put together from the three texts and from one row for each signal, whose phrases
// are the same. A row that does not parse aborts the program.
#include "diagnosis/signatures/signatures.h"

#include <algorithm>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "base/check.h"
#include "base/tables/rows.h"
#include "base/text.h"

namespace ocrtune {
namespace {

// How launchers, shells, batch systems and init systems put a child's death by a signal: the same
// few phrases with every signal.
struct SignalRow {
  const char* id;
  const char* name;  // without SIG
  const char* cause;
  const char* also;  // an alternative of this signal's own, or ""
  double weight;
  int number;
  Role role;
};

constexpr SignalRow kSignals[] = {
    {"exit_sigkill", "KILL", "host_out_of_memory", "", 0.7, 9, Role::symptom},
    {"exit_sigbus", "BUS", "shm_full", "", 0.65, 7, Role::symptom},
    {"exit_sigsegv", "SEGV", "segmentation_fault", "|status_access_violation|0xc0000005", 0.7, 11,
     Role::symptom},
    {"exit_sigabrt", "ABRT", "aborted", "", 0.45, 6, Role::symptom},
    {"exit_sigill", "ILL", "illegal_instruction", "|status_illegal_instruction|0xc000001d", 0.85, 4,
     Role::symptom},
    {"exit_sigfpe", "FPE", "native_exception", "", 0.6, 8, Role::symptom},
    {"exit_sigterm", "TERM", "terminated_from_outside", "", 0.3, 15, Role::consequence},
};

// Phrases with the signal's number, its name, or the shell's 128 + number. The words stand in one
// group, because RE2 would factor their common starts into pieces too short for the prefilter.
std::string phrases(const SignalRow& signal) {
  constexpr const char* kPhrases =
      R"((?i)(?:exit code|exitcode|exit_code|exit status|exit value|return code|returncode|exited with code|exited with status|exited with|non-zero exit status)(?: is| was)?[^0-9A-Za-z-]*(?:-{number}|{shell})\b)"
      R"(|(?:by|on|with|to|due to|got|received|caught) (?:an? )?(?:unhandled |fatal |death )?signal[ :(]+{number}\b)"
      R"(|(?:by|on|with|sent|via|due to) (?:an? )?(?:unhandled |fatal )?(?:signal[ :]+)?\[?sig{name}\b|\*\*\* .{{0,80}}error {shell}\b)"
      R"(|died with <signals\.sig{name}|\(sig{name}\)|sig{name}\(-{number}\)|\bsignal: {number}, sig{name}\b)"
      R"(|status={number}/{name}\b|Container rank -?\d+ status \w+ cmd .* code -{number} {also})";
  return fmt::format(kPhrases, fmt::arg("number", signal.number),
                     fmt::arg("shell", 128 + signal.number), fmt::arg("name", signal.name),
                     fmt::arg("also", signal.also));
}

constexpr std::string_view kRoles[] = {"proof",       "primary", "at_end",   "symptom", "generic",
                                       "consequence", "note",    "activity", "finish"};

SignatureRow row_of(std::string_view line) {
  const std::string_view id = take_column(line), cause = take_column(line);
  const auto role = std::ranges::find(kRoles, take_column(line));
  OCRTUNE_CHECK(role != std::end(kRoles));
  const std::string_view weight = take_column(line);
  return {id, cause, static_cast<Role>(role - std::begin(kRoles)), parse_number(weight).value(),
          line};
}

}  // namespace

const std::vector<SignatureRow>& signature_table() {
  static const std::vector<SignatureRow> kTable = [] {
    std::vector<SignatureRow> table;
    for (const std::string_view part :
         {kSystemSignatures, kFrameworkSignatures, kProgramSignatures}) {
      for (const std::string_view row : rows_of(part)) table.push_back(row_of(row));
    }
    for (const SignalRow& row : kSignals) {
      table.push_back({row.id, row.cause, row.role, row.weight, lasting(phrases(row))});
    }
    return table;
  }();
  return kTable;
}

std::string_view role_name(Role role) { return kRoles[static_cast<std::size_t>(role)]; }

int tier(Role role) {
  constexpr int kTiers[] = {4, 3, 2, 2, 1, 0, 0, 0, 0};  // as kRoles
  return kTiers[static_cast<std::size_t>(role)];
}

}  // namespace ocrtune
