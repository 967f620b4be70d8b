// Folders named "ocrtune.tmp.HOST." are removed by the next ocrtune when their owner is gone, so a
// kept one loses that part of its name.
#include "trial/workloads/command/kept_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <deque>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kKeptFolders = 3;
constexpr const char* kKept = "ocrtune.trial.";  // and six letters or digits

std::string renamed(const std::string& folder) {
  const std::string temporary = "ocrtune.tmp.";  // and the host's name
  std::string kept = folder;
  const std::size_t at = kept.rfind(temporary);
  const std::size_t end = at == kept.npos ? at : kept.find('.', at + temporary.size());
  if (end != kept.npos) kept.replace(at, end + 1 - at, "ocrtune.");
  return std::rename(folder.c_str(), kept.c_str()) == 0 ? kept : folder;
}

}  // namespace

std::string keep_folder(const std::string& folder) {
  // Of the process: several runners may keep folders.
  static std::deque<std::string> all;
  all.push_back(renamed(folder));
  if (all.size() > kKeptFolders) {
    [[maybe_unused]] const Status removed = remove_tree(all.front());
    all.pop_front();
  }
  return all.back();
}

bool remove_kept_folder(const std::string& folder) {
  const std::string name = folder.substr(folder.rfind('/') + 1);
  struct stat found {};
  // Itself and not what a link points to.
  return starts_with(name, kKept) && ::lstat(folder.c_str(), &found) == 0 &&
         S_ISDIR(found.st_mode) && found.st_uid == ::geteuid() && remove_tree(folder).ok();
}

}  // namespace ocrtune
