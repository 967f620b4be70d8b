// A settings file: a command's flags as `key = value`, in TOML. The keys are the names of the flags
// without dashes, so that there is one table of them; "command" is the launch command.
//
//   preset = "paddleocr"
//   command = ["python3", "tools/train.py", "-c", "rec.yml"]   # or one line, as a shell splits it
//   budget = "10m"
//   nproc = [1, 2, 4]
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/flags.h"

namespace ocrtune {

// Of the current folder: what `tune` and `doctor` take where the command line does not say what to
// run.
inline constexpr const char* kSettingsFile = "ocrtune.toml";

// usage: not TOML, a key that is no flag, or a value of a kind that no flag takes: names file, line
// and key, and says what is wanted.
Result<std::vector<FileSetting>> parse_settings(const Flags& flags, const std::string& text,
                                                const std::string& path);

// The same of a file in the current folder; nothing if there is none.
Result<std::vector<FileSetting>> read_settings(const Flags& flags, const std::string& path);

// The words of a command line with the settings in front of its flags, as if they had been typed:
// "ocrtune tune --resume" of `words` keeps its first two.
std::vector<std::string> words_with_settings(const std::vector<std::string>& words,
                                             const std::vector<FileSetting>& settings);

}  // namespace ocrtune
