// The folder of a failed trial, which stays to be looked into.
#pragma once

#include <string>

namespace ocrtune {

// Under a name that is nobody's to remove. Returns it; the old one if that is refused. The last
// three of this process stay: /tmp may be memory.
std::string keep_folder(const std::string& folder);

// Removes it, where it is there: a folder of this user with the name that keep_folder() gives.
// What else a path of a store may name stays. Returns whether it is gone now.
bool remove_kept_folder(const std::string& folder);

}  // namespace ocrtune
