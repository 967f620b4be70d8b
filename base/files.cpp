#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace ocrtune {
namespace {

namespace fs = std::filesystem;

// Closes on every way out; close errors matter only to writers, who call close() themselves.
struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

}  // namespace

Status write_all(int descriptor, std::string_view contents, const std::string& name) {
  while (!contents.empty()) {
    const ssize_t written = ::write(descriptor, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(errno, "write " + name);
    contents.remove_prefix(static_cast<std::size_t>(written));
  }
  return Status();
}

Result<std::string> read_file(const std::string& path, std::uint64_t max_bytes) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.number < 0) return system_error(errno, "open " + path);
  std::string contents;
  char block[65536];
  while (contents.size() < max_bytes) {
    const auto room = std::min<std::uint64_t>(sizeof block, max_bytes - contents.size());
    const ssize_t got = ::read(file.number, block, static_cast<std::size_t>(room));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, "read " + path);
    if (got == 0) break;
    contents.append(block, static_cast<std::size_t>(got));
  }
  return contents;
}

Status write_file(const std::string& path, std::string_view contents) {
  const std::string beside = path + ".part";
  Descriptor file{::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
  if (file.number < 0) return system_error(errno, "create " + path);
  Status status = write_all(file.number, contents, path);
  if (status && ::fsync(file.number) != 0 && errno != EINVAL) {
    status = system_error(errno, "sync " + path);
  }
  if (::close(file.number) != 0 && status) status = system_error(errno, "close " + path);
  file.number = -1;
  if (status && ::rename(beside.c_str(), path.c_str()) != 0) {
    status = system_error(errno, "rename to " + path);
  }
  if (!status) ::unlink(beside.c_str());
  return status;
}

Status make_directories(const std::string& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code) return system_error(code.value(), "create folder " + path);
  return Status();
}

bool path_exists(const std::string& path) {
  std::error_code code;
  return fs::exists(path, code);
}

bool is_directory(const std::string& path) {
  std::error_code code;
  return fs::is_directory(path, code);
}

Result<std::vector<std::string>> list_directory(const std::string& path) {
  std::error_code code;
  std::vector<std::string> names;
  for (auto entry = fs::directory_iterator(path, code); !code && entry != fs::directory_iterator();
       entry.increment(code)) {
    names.push_back(entry->path().filename().string());
  }
  if (code) return system_error(code.value(), "read folder " + path);
  std::sort(names.begin(), names.end());
  return names;
}

std::string join_path(std::string_view folder, std::string_view name) {
  if (folder.empty()) return std::string(name);
  std::string path(folder);
  if (path.back() != '/') path += '/';
  return path + std::string(name);
}

Result<std::string> real_path(const std::string& path) {
  std::error_code code;
  const fs::path real = fs::canonical(path, code);
  if (code) return system_error(code.value(), path);
  return real.string();
}

std::string parent_path(const std::string& path) { return fs::path(path).parent_path().string(); }

Result<std::string> make_temporary_directory(const std::string& tag) {
  const char* base = std::getenv("TMPDIR");
  std::string name =
      join_path(base != nullptr && *base != '\0' ? base : "/tmp", "ocrtune." + tag + ".XXXXXX");
  if (::mkdtemp(name.data()) == nullptr) return system_error(errno, "create folder " + name);
  return name;
}

Status remove_tree(const std::string& path) {
  std::error_code code;
  fs::remove_all(path, code);
  if (code) return system_error(code.value(), "remove " + path);
  return Status();
}

std::string default_data_directory() {
  const char* xdg = std::getenv("XDG_DATA_HOME");
  if (xdg != nullptr && *xdg == '/') return join_path(xdg, "ocrtune");
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return join_path(home, ".local/share/ocrtune");
  return "/tmp/ocrtune-" + std::to_string(::getuid());
}

FileRoot::FileRoot(std::string directory) : directory_(std::move(directory)) {
  while (!directory_.empty() && directory_.back() == '/') directory_.pop_back();
}

std::string FileRoot::path(std::string_view absolute) const {
  return directory_ + std::string(absolute);
}

Result<std::string> FileRoot::read(std::string_view absolute) const {
  return read_file(path(absolute), 16ULL << 20);
}

bool FileRoot::exists(std::string_view absolute) const { return path_exists(path(absolute)); }

Result<std::vector<std::string>> FileRoot::list(std::string_view absolute) const {
  return list_directory(path(absolute));
}

}  // namespace ocrtune
