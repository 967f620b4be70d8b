// A count with its noun, in English: "1 process", "2 processes", "0 lines".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ocrtune {

// `noun` is what stands for one: "usable line", "class", "batch".
std::string how_many(std::int64_t count, std::string_view noun);

// The noun alone, as it stands behind the number: "process" behind 1, "processes" behind any other.
std::string noun_after(double number, std::string_view noun);

}  // namespace ocrtune
