// A folder that the user named for what a command writes.
#pragma once

#include <string>

#include "base/result.h"

namespace ocrtune {

// Makes it if it is not there, and says so on stderr: the name may be mistyped. Errors: missing if
// the folder that shall hold it is not there either. An empty path is the current folder.
Status make_output_folder(const std::string& path);

}  // namespace ocrtune
