// Where another run begins in a log that several runs were appended to.
//
// Looked for only behind a failure: a banner ("=== run 2 ==="), a program's or a launcher's first
// words, a supervisor's restart, a command typed again, a step that counts anew.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ocrtune {

bool begins_a_run(std::string_view line);

// The first line of a log, which says that a run begins wherever its like stands behind a failure:
// "Job 7 on node-3, restart count 1". Not where its like stands among the first lines already.
class RunHead {
 public:
  static constexpr std::int64_t kFirstLines = 3;  // one of which it is
  static constexpr std::int64_t kBeginning = 200;
  // Each line, that `lines` came before.
  bool is_again(std::string_view line, std::int64_t lines, bool failed);

 private:
  std::string head_;
};

// "me@host:~$ python tools/train.py -c a.yml" -> "train.py"; empty: the command starts no script.
std::string_view typed_script(std::string_view line);

// The step or epoch that a progress line counts: "global_step: 40", "Epoch [3/5]", "iter 100".
std::optional<std::int64_t> step_of(std::string_view line);

}  // namespace ocrtune
