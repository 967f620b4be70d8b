// Completion scripts for shells: static text made from the command table.
#pragma once

#include <string>

namespace ocrtune {

std::string completion_script(const std::string& shell);  // "bash", "zsh" or "fish"

}  // namespace ocrtune
