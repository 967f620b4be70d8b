#include "diagnosis/signatures/signatures.h"

namespace ocrtune {

// The parts of the table; order has no meaning.
std::vector<SignatureRow> system_signatures();   // signatures_system.cpp
std::vector<SignatureRow> paddle_signatures();   // signatures_paddle.cpp
std::vector<SignatureRow> torch_signatures();    // signatures_torch.cpp
std::vector<SignatureRow> program_signatures();  // signatures_program.cpp
std::vector<SignatureRow> serving_signatures();  // signatures_serving.cpp

const std::vector<SignatureRow>& signature_table() {
  static const std::vector<SignatureRow> kTable = [] {
    std::vector<SignatureRow> table;
    for (auto& part : {system_signatures(), paddle_signatures(), torch_signatures(),
                       program_signatures(), serving_signatures()}) {
      table.insert(table.end(), part.begin(), part.end());
    }
    return table;
  }();
  return kTable;
}

std::string_view role_name(Role role) {
  constexpr std::string_view kNames[] = {"proof",       "primary", "at_end",   "symptom", "generic",
                                         "consequence", "note",    "activity", "finish"};
  return kNames[static_cast<std::size_t>(role)];
}

int tier(Role role) {
  switch (role) {
    case Role::proof:
      return 4;
    case Role::primary:
      return 3;
    case Role::at_end:
    case Role::symptom:
      return 2;
    case Role::generic:
      return 1;
    default:
      return 0;
  }
}

}  // namespace ocrtune
