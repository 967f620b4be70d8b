// {copy} in a command or an address: the number of one of several copies.
#pragma once

#include <string>

namespace ocrtune {

// {copy} as this number. Behind digits that make a port with it, as in "808{copy}", both are added:
// copy 10 listens on 8090, where its digits would give 80810.
std::string fill_copy(std::string text, int number);

}  // namespace ocrtune
