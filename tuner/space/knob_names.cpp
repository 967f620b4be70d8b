#include "tuner/space/knob_names.h"

#include <algorithm>

#include "base/text.h"

namespace ocrtune {

Status check_knob_names(const Knobs& knobs, const std::vector<std::string>& own,
                        const std::vector<std::string>& command) {
  const std::string line = join(command, " ");
  std::vector<std::string> names = own;
  for (const KnobRow& row : knob_table()) names.emplace_back(row.name);
  for (const auto& [name, value] : knobs.dims) {
    if (std::find(own.begin(), own.end(), name) != own.end()) continue;
    if (line.find("{" + name + "}") != std::string::npos) continue;
    const std::string near = nearest_name(name, names);
    return Error{ErrorKind::usage, "no knob " + name + "; " +
                                       (near.empty() ? "`ocrtune list knobs` shows them"
                                                     : "did you mean " + near + "?")};
  }
  return Status();
}

}  // namespace ocrtune
