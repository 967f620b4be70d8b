// The rows of backends: a list of them needs none of their libraries.
#include "core/backends/backend_table.h"

namespace ocrtune {

const std::vector<BackendRow>& backend_table() {
  static const std::vector<BackendRow> table = {
      {"onednn", "oneDNN convolutions and products, own vector loops for the rest"},
      {"reference", "plain loops, the reference for the others; slow"},
  };
  return table;
}

}  // namespace ocrtune
