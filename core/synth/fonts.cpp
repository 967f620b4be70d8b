// Folders are searched by file names alone; LinePainter finds out which fonts can be used.
#include "core/synth/fonts.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"

namespace ocrtune {
namespace {

namespace fs = std::filesystem;

bool is_outline_font(const std::string& path) {
  const std::string name = lower(path);
  return ends_with(name, ".ttf") || ends_with(name, ".otf") || ends_with(name, ".ttc");
}

void add_folder(const std::string& folder, std::vector<std::string>& fonts) {
  std::error_code code;
  const auto options = fs::directory_options::skip_permission_denied;
  for (auto entry = fs::recursive_directory_iterator(folder, options, code);
       !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
    const std::string path = entry->path().string();
    if (is_outline_font(path) && entry->is_regular_file(code)) fonts.push_back(path);
  }
}

}  // namespace

std::vector<std::string> font_folders() {
  std::vector<std::string> folders = {"/usr/share/fonts", "/usr/local/share/fonts"};
  const std::string prefix = parent_path(parent_path(own_program()));
  folders.push_back(join_path(prefix, "share/ocrtune/fonts"));  // of scripts/portable
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') {
    folders.push_back(join_path(home, ".local/share/fonts"));
    folders.push_back(join_path(home, ".fonts"));
  }
  std::erase_if(folders, [](const std::string& folder) { return !is_directory(folder); });
  return folders;
}

Result<std::vector<std::string>> find_fonts(const std::vector<std::string>& places) {
  std::vector<std::string> fonts;
  for (const std::string& place : places) {
    if (!path_exists(place)) return Error{ErrorKind::missing, "font " + place + " is not there"};
    if (is_directory(place)) {
      add_folder(place, fonts);
    } else {
      fonts.push_back(place);
    }
  }
  std::sort(fonts.begin(), fonts.end());
  fonts.erase(std::unique(fonts.begin(), fonts.end()), fonts.end());
  return fonts;
}

}  // namespace ocrtune
