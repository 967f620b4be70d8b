// Where another run begins in a log that several runs were appended to.
//
// Looked for only behind a failure: a banner ("=== run 2 ==="), a program's or a launcher's first
// words, a supervisor's restart, a command typed again, a step that counts anew.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ocrtune {

bool begins_a_run(std::string_view line);

// "me@host:~$ python tools/train.py -c a.yml" -> "train.py"; empty: the command starts no script.
std::string_view typed_script(std::string_view line);

// The step or epoch that a progress line counts: "global_step: 40", "Epoch [3/5]", "iter 100".
std::optional<std::int64_t> step_of(std::string_view line);

}  // namespace ocrtune
