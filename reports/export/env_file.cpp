// A value that sh and docker would read differently stands in a comment, to be set by hand.
#include "reports/export/env_file.h"

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/plain_text.h"

namespace ocrtune {

// Comments go through plain_line: a line feed in a knob's value must not end the comment.
std::string env_file_text(const TuneResult& result) {
  const Recommendation& recommended = result.recommendation;
  std::string text = fmt::format("# Run {}: {}\n", plain_line(result.run_id),
                                 plain_line(knobs_text(recommended.knobs)));
  if (!is_recommendation(result.verdict)) text += fmt::format("# {}\n", kOpenNote);
  text += "# Use: set -a; . ./ocrtune.env; set +a  or: docker run --env-file ocrtune.env\n";
  for (const auto& [name, value] : recommended.env) {
    if (!is_variable_name(name)) continue;
    // Docker takes quotes for a part of the value.
    const bool plain = shell_quote(value) == value;
    text += plain ? fmt::format("{}={}\n", name, value)
                  : fmt::format("# set by hand: {}={}\n", name, plain_line(shell_quote(value)));
  }
  if (!recommended.command.empty()) {
    text += fmt::format("# {}\n", plain_line(recommended.command, 65536));
  }
  return text;
}

}  // namespace ocrtune
