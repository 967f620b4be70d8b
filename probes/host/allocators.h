// Memory allocators that a program gets by LD_PRELOAD, where this system has them.
//
// Sources: ld.so(8); the sonames of gperftools, jemalloc and mimalloc as distributions ship them.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"

namespace ocrtune {

struct Allocator {
  const char* name;
  std::vector<const char*> libraries;  // sonames, best first
  const char* package;                 // of Debian
};

const std::vector<Allocator>& allocator_table();
const Allocator* find_allocator(const std::string& name);  // null: none of the table

// Path of its library for programs of this machine's kind: from the loader's cache, else in a
// folder that every loader searches. Empty: it is not installed, or not in the table.
std::string allocator_library(const std::string& name, const FileRoot& root = FileRoot());
std::vector<std::string> installed_allocators(const FileRoot& root = FileRoot());  // names

// The first allocator that a value of LD_PRELOAD names; null: none.
const Allocator* preloaded_allocator(const std::string& preload);

}  // namespace ocrtune
