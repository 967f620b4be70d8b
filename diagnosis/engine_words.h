// What to type where it depends on who runs the container or the job: one command of the engine
// that is seen, in place of a sentence for all of them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ocrtune {

struct EngineWords {
  const char* general;  // of a row of the other tables
  const char* engine;   // "docker", "podman", "kubernetes", "slurm" or "lxc"
  const char* own;      // ""; nothing is to be done there
};

const std::vector<EngineWords>& engine_words();

// Who runs the program that wrote these logs (bits of Program); "": nobody, or several.
std::string_view engine_of(std::uint32_t programs);

// The engine's own words, else the general ones. `engine` as above, or any other name of a
// container.
const char* words_for(const char* general, std::string_view engine);

}  // namespace ocrtune
