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

// Is it the log's first line again, "Job 7 on node-3, restart count 1"? `head` keeps that line, one
// of the first kHeadLines, unless others of the beginning are like it.
inline constexpr std::int64_t kHeadLines = 3;
bool is_head_again(std::string& head, std::string_view line, std::int64_t lines, bool failed);

// What a person typed, "me@host:~$ docker inspect ..." or "[me@host a]$ ls", or a shell tells of
// its script, "+ ls": it says what was asked, not what was so.
bool is_typed_command(std::string_view line);

// "me@host:~$ python tools/train.py -c a.yml" -> "train.py"; empty: the command starts no script.
std::string_view typed_script(std::string_view line);

// The step or epoch that a progress line counts: "global_step: 40", "Epoch [3/5]", "iter 100".
std::optional<std::int64_t> step_of(std::string_view line);

}  // namespace ocrtune
