// What `ocrtune` alone says: what this folder holds, and what could be done with it.
#pragma once

#include <string>

namespace ocrtune {

std::string here_text();

}  // namespace ocrtune
