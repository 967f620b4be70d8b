// What is meant by the first words of a command line: groups of commands, and names that other
// tools have taught people.
#pragma once

#include <string>
#include <vector>

namespace ocrtune {

// {"engine", "train", "lines"} becomes {"train", "lines"}, {"ls"} {"runs"}, {"diff", "A", "B"}
// {"runs", "compare", "A", "B"}, {"version"} {"--version"}. Other words stay.
std::vector<std::string> meant_words(std::vector<std::string> words);

}  // namespace ocrtune
