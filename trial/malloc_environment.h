// What puts a value of the knob `malloc` in force: glibc's variables, or an allocator by
// LD_PRELOAD.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ocrtune {

// The allocator's library where it lies here (probes/host/allocators.h), else its name alone;
// empty: `malloc` needs none.
std::string preload_of(const std::string& malloc);

// LD_PRELOAD with the library behind what was given.
std::string with_preload(const std::string& given, const std::string& library);

// Behind what our own environment has in LD_PRELOAD. Empty for "default".
std::vector<std::pair<std::string, std::string>> malloc_environment(const std::string& malloc);

}  // namespace ocrtune
