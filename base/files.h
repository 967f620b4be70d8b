// Files: whole reads, writes that are either complete or not there, and a root for probing.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// An open file: closed on every way out. A close that fails matters to writers alone, who call it
// themselves.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int descriptor) : number(descriptor) {}
  Descriptor(Descriptor&& other) noexcept : number(std::exchange(other.number, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~Descriptor();
  bool is_open() const { return number >= 0; }
  int number = -1;
};

// Whether `path` still names the open file or folder: between open() and a lock it may have been
// removed, and another made under its name.
bool is_still_at(int descriptor, const std::string& path);

double changed_seconds(const struct stat& facts);  // when it was last written, since the epoch

// The whole file, at most `max_bytes` of it. Works for /proc and /sys, whose sizes read as 0.
Result<std::string> read_file(const std::string& path, std::uint64_t max_bytes = 1ULL << 30);

// All of `contents`, however many calls that takes; `name` is what an error calls the descriptor.
Status write_all(int descriptor, std::string_view contents, const std::string& name);

// Writes beside the target, syncs, renames: after a crash or a full disk the old file still stands.
// A link is followed and the file keeps its mode. "-" and /dev/stdout are standard output; what is
// no regular file (a FIFO, a character device) is written to as it is; a block device is refused.
// Where the folder cannot be written to, or the file is a mount point, the file itself is
// overwritten.
Status write_file(const std::string& path, std::string_view contents);

Status make_directories(const std::string& path);
// Makes the last folder of the path and gives whether it was not there. Errors: missing if the
// folder that shall hold it does not exist, so that a mistyped path makes no tree of folders.
Result<bool> make_folder(const std::string& path);
bool path_exists(const std::string& path);
// missing: "PATH is not there"; denied and others where that cannot be known: "PATH: Permission
// denied" of a file in a closed folder.
Status check_there(const std::string& path);
bool is_directory(const std::string& path);
// Names (not paths) in a folder, sorted; an absent folder is an error of kind missing.
Result<std::vector<std::string>> list_directory(const std::string& path);
std::string join_path(std::string_view folder, std::string_view name);
std::string parent_path(const std::string& path);
std::string base_name(const std::string& path);          // what stands after the last slash
Result<std::string> real_path(const std::string& path);  // absolute, links followed; must exist
// A fresh private "<TMPDIR or /tmp>/ocrtune.tmp.<host>.<tag>.XXXXXX"; those of dead processes of
// this host are removed.
Result<std::string> make_temporary_directory(const std::string& tag);
// Removes a tree without following links out of it; what is not there is no error.
Status remove_tree(const std::string& path);

// Where XDG says that a program keeps its state: $XDG_DATA_HOME/ocrtune, ~/.local/share/ocrtune.
// Without a home: /tmp/ocrtune-UID.
std::string default_data_directory();
// Makes it, for this user alone (0700). Errors: denied if the one in /tmp is not a folder of this
// user's own or others may write into it, because commands are read from the runs in it.
Status make_data_directory();

// The one door to /proc, /sys and /etc for probes: "/" on a live machine, a saved tree in tests.
class FileRoot {
 public:
  FileRoot() = default;
  explicit FileRoot(std::string directory);

  bool is_live() const { return directory_.empty(); }
  std::string path(std::string_view absolute) const;  // "/proc/stat" -> "<root>/proc/stat"
  Result<std::string> read(std::string_view absolute) const;
  bool exists(std::string_view absolute) const;
  Result<std::vector<std::string>> list(std::string_view absolute) const;

 private:
  std::string directory_;  // empty: the live machine
};

}  // namespace ocrtune
