// What a preset file may say wrongly although it has the right keys: placeholders, readers and
// needs that there are not, and values that come to nothing.
#pragma once

#include "trial/workloads/command/toml_reader.h"

namespace ocrtune {

// Tells `reader` the first thing that is wrong.
void check_preset(TomlReader& reader, const toml::table& document);

}  // namespace ocrtune
