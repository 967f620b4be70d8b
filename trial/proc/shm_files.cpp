// Descriptors and mappings lead to the same files, which are told apart by device and inode. A file
// is reached through /proc/PID/fd where it has no name any more. Mappings are dear to read, so the
// caller says whether they are.
#include "trial/proc/shm_files.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <map>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::uint64_t kBlock = 512;  // of st_blocks
constexpr std::string_view kDeleted = " (deleted)";
constexpr std::string_view kMemfd = "/memfd:";

class Collector {
 public:
  Collector(const std::string& folder, const TmpfsPaths& others)
      : mark_(folder + "/"), others_(others) {}

  void look_at_descriptors(int pid);
  void look_at_maps(int pid);
  std::vector<ShmFile> files() const;

 private:
  bool is_ours(std::string_view path) const {
    return starts_with(path, mark_) || starts_with(path, kMemfd);
  }
  bool is_others(std::string_view path) const { return others_.contain(path); }
  std::string name_of(std::string_view path) const;
  ShmFile* add(std::string_view path, const std::string& reachable_as);

  std::string mark_;
  const TmpfsPaths& others_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, ShmFile> files_;
};

// A file in a folder of /dev/shm has the folder's path as a part of its name.
std::string Collector::name_of(std::string_view path) const {
  if (!starts_with(path, mark_) || ends_with(path, kDeleted)) return "";
  return std::string(path.substr(mark_.size()));
}

ShmFile* Collector::add(std::string_view path, const std::string& reachable_as) {
  struct stat facts {};
  // The link is followed by the kernel, so a deleted file can be asked for its size.
  if (::stat(reachable_as.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return nullptr;
  ShmFile& file = files_[{facts.st_dev, facts.st_ino}];
  file.device = facts.st_dev;
  file.inode = facts.st_ino;
  file.bytes = static_cast<std::uint64_t>(facts.st_blocks) * kBlock;
  if (file.name.empty()) file.name = name_of(path);
  if (path.front() == '/' && !starts_with(path, kMemfd) && !ends_with(path, kDeleted)) {
    file.path = path;
  }
  return &file;
}

void Collector::look_at_descriptors(int pid) {
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  const auto names = list_directory(folder);
  if (!names) return;
  for (const std::string& name : *names) {
    const std::string link = folder + "/" + name;
    std::array<char, 4096> target{};
    const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
    if (size <= 0) continue;
    const std::string_view path(target.data(), static_cast<std::size_t>(size));
    const bool ours = is_ours(path);
    if (!ours && !is_others(path)) continue;
    struct stat facts {};  // of the link itself: its mode says how the file was opened
    const bool writable = ::lstat(link.c_str(), &facts) == 0 && (facts.st_mode & S_IWUSR) != 0;
    if (!ours && !writable) continue;
    ShmFile* file = add(path, link);
    if (file != nullptr && writable) file->writable = true;
  }
}

// "7f.. -7f.. rw-s 00000000 00:1a 123     /dev/shm/name". A file that is deleted and that nobody
// has open any more is only in its users' PSS.
void Collector::look_at_maps(int pid) {
  // Up to 64 MiB: a process of many mappings has a line for each.
  const auto text = read_file(fmt::format("/proc/{}/maps", pid), 64 << 20);
  // Most processes map no such file, and a search in the text is much cheaper than its lines.
  if (!text || (others_.empty() && text->find(mark_) == std::string::npos &&
                text->find(kMemfd) == std::string::npos)) {
    return;
  }
  for (const std::string& line : split(*text, '\n')) {
    const std::size_t at = line.find('/');
    if (at == std::string::npos) continue;
    const std::string_view path = std::string_view(line).substr(at);
    const bool ours = is_ours(path);
    if (!ours && (line.find(" rw-s ") > at || !is_others(path))) continue;
    const auto fields = words(std::string_view(line).substr(0, at));
    if (fields.size() < 5) continue;
    unsigned major = 0, minor = 0;
    std::uint64_t inode = 0;
    const std::size_t colon = fields[3].find(':');
    if (colon == std::string::npos) continue;
    const char* device = fields[3].data();
    std::from_chars(device, device + colon, major, 16);
    std::from_chars(device + colon + 1, device + fields[3].size(), minor, 16);
    std::from_chars(fields[4].data(), fields[4].data() + fields[4].size(), inode);
    const auto open = files_.find({::makedev(major, minor), inode});
    ShmFile* file = open != files_.end() ? &open->second : nullptr;
    // A deleted name may belong to a new file by now.
    if (file == nullptr && !ends_with(path, kDeleted)) file = add(path, std::string(path));
    if (file == nullptr) continue;
    file->mapped = true;
    file->writable = file->writable || fields[1] == "rw-s" || fields[1] == "-w-s";
  }
}

std::vector<ShmFile> Collector::files() const {
  std::vector<ShmFile> files;
  for (const auto& [identity, file] : files_) files.push_back(file);
  return files;
}

}  // namespace

std::vector<ShmFile> used_shm_files(const std::vector<ProcessFacts>& members,
                                    const std::string& folder, bool maps,
                                    const TmpfsPaths& others) {
  Collector collector(folder, others);
  for (const ProcessFacts& process : members) collector.look_at_descriptors(process.pid);
  if (maps) {
    for (const ProcessFacts& process : members) collector.look_at_maps(process.pid);
  }
  return collector.files();
}

}  // namespace ocrtune
