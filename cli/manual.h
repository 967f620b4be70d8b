// The manual page, made from the same declarations as --help.
#pragma once

#include <string>

namespace ocrtune {

// ocrtune(1) in man(7) macros: every command that is not hidden, with its options and examples.
std::string manual_page();

}  // namespace ocrtune
