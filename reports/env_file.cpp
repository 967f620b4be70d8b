#include "reports/env_file.h"

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {

std::string env_file_text(const TuneResult& result) {
  const Recommendation& recommended = result.recommendation;
  std::string text = fmt::format("# Run {}: {}\n", result.run_id, knobs_text(recommended.knobs));
  text += "# Use: set -a; . ./ocrtune.env; set +a\n";
  text += fmt::format("OCRTUNE_NPROC_PER_NODE={}\n", recommended.knobs.nproc);
  for (const auto& [name, value] : recommended.env) {
    text += fmt::format("{}={}\n", name, shell_quote(value));
  }
  if (!recommended.command.empty()) text += fmt::format("# {}\n", recommended.command);
  return text;
}

}  // namespace ocrtune
