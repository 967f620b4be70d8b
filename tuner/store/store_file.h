// Opens the store's file: what it is is asked before SQLite may change it, and the tables are made.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "tuner/store/sqlite.h"

namespace ocrtune {

// Makes the last folder and the file (mode 0600) as needed. Errors: as of Store::open.
Result<std::unique_ptr<Sqlite>> open_store_to_write(const std::string& path);
// Changes nothing, unless a process died while it wrote and this user may mend it. Also on a
// read-only file system.
Result<std::unique_ptr<Sqlite>> open_store_to_read(const std::string& path);

std::string no_runs_in(const std::string& path);  // the sentence, with the way out

}  // namespace ocrtune
