// Raw system calls and from_chars in place of readdir, stdio and strtol, which allocate or lock.
// The fields of /proc/<pid>/stat are numbered as in proc(5), from the state on.
#include "base/raw_proc.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>

namespace ocrtune {
namespace {

// Bytes of the stack for one getdents64 call; a forked child has no other memory to spare.
constexpr std::size_t kEntries = 4096;
constexpr const char* kOwnDescriptors = "/proc/self/fd";
constexpr rlim_t kMaxDescriptors = 1 << 16;  // tried one by one where /proc is not mounted

// The layout of getdents64(2); libc's readdir allocates.
struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[1];
};

template <typename Number>
bool parse_field(std::string_view text, Number& number) {
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
}

// The context is the first descriptor that goes.
void close_above(int descriptor, void* first) {
  if (descriptor >= *static_cast<int*>(first)) ::close(descriptor);
}

void close_on_exec_above(int descriptor, void* first) {
  if (descriptor >= *static_cast<int*>(first)) ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

void each_descriptor_from(int first, void (*visit)(int, void*)) {
  if (for_each_number(kOwnDescriptors, visit, &first)) return;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto end = static_cast<int>(std::min(limit.rlim_cur, kMaxDescriptors));
  for (int descriptor = first; descriptor < end; ++descriptor) visit(descriptor, &first);
}

}  // namespace

double ticks_per_second() {
  static const auto kTicks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return kTicks;
}

double tick_seconds(std::uint64_t ticks) { return static_cast<double>(ticks) / ticks_per_second(); }

bool parse_stat_line(std::string_view line, ProcessStat& stat) {
  const std::size_t open = line.find('(');
  const std::size_t close = line.rfind(')');  // a name may hold blanks and parentheses
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return false;
  }
  // Fields after the name: state 0, parent 1, session 3, minor faults 7 and children's 8, major
  // ones 9 and 10, user 11 and system time 12, the same of children 13 and 14, start 19.
  std::array<std::string_view, 20> fields;
  std::size_t at = close + 1;
  for (std::string_view& field : fields) {
    while (at < line.size() && line[at] == ' ') ++at;
    const std::size_t end = std::min(line.find_first_of(" \n", at), line.size());
    field = line.substr(at, end - at);
    if (field.empty()) return false;
    at = end;
  }
  std::uint64_t user = 0, children_user = 0;
  const bool numbers =
      parse_field(line.substr(0, open), stat.pid) && parse_field(fields[1], stat.parent) &&
      parse_field(fields[3], stat.session) && parse_field(fields[7], stat.minor_faults) &&
      parse_field(fields[8], stat.children_minor_faults) &&
      parse_field(fields[9], stat.major_faults) &&
      parse_field(fields[10], stat.children_major_faults) && parse_field(fields[11], user) &&
      parse_field(fields[12], stat.system_ticks) && parse_field(fields[13], children_user) &&
      parse_field(fields[14], stat.children_system_ticks) &&
      parse_field(fields[19], stat.start_ticks);
  if (!numbers || stat.pid <= 0 || fields[0].size() != 1) return false;
  stat.state = fields[0][0];
  stat.cpu_ticks = user + stat.system_ticks;
  stat.children_ticks = children_user + stat.children_system_ticks;
  stat.name = line.substr(open + 1, close - open - 1);
  return true;
}

void proc_path(int pid, const char* file, char* path) {
  constexpr std::string_view kFolder = "/proc/";
  // 12 characters hold any int.
  char* end = std::copy(kFolder.begin(), kFolder.end(), path);
  end = std::to_chars(end, end + 12, pid).ptr;
  *end++ = '/';
  std::strncpy(end, file, static_cast<std::size_t>(path + kProcPathBytes - end - 1));
  path[kProcPathBytes - 1] = '\0';
}

std::optional<std::string_view> status_value(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.size() <= key.size() || line[key.size()] != ':' || !line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", key.size() + 1);
    if (begin == line.npos) return std::string_view();
    return line.substr(begin, line.find_last_not_of(" \t") + 1 - begin);
  }
  return std::nullopt;
}

bool read_process_stat(int pid, char* block, ProcessStat& stat) {
  char path[kProcPathBytes];
  proc_path(pid, "stat", path);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t got = ::read(file, block, kStatBytes);
  ::close(file);
  return got > 0 && parse_stat_line({block, static_cast<std::size_t>(got)}, stat);
}

bool signal_exactly(int pid, std::uint64_t start_ticks, int number) {
  // Held while the identity is compared, so that the pid cannot be given away in between. A kernel
  // without pidfd_open, a filter that refuses it or a full table leaves the plain kill.
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U));
  if (handle < 0 && errno == ESRCH) return false;
  char block[kStatBytes];
  ProcessStat now;
  bool sent = false;
  if (read_process_stat(pid, block, now) && now.start_ticks == start_ticks) {
    sent = handle >= 0 && ::syscall(SYS_pidfd_send_signal, handle, number, nullptr, 0U) == 0;
    if (!sent && (handle < 0 || errno != ESRCH)) sent = ::kill(pid, number) == 0;
  }
  if (handle >= 0) ::close(handle);
  return sent;
}

bool for_each_number(const char* folder, void (*visit)(int, void*), void* context) {
  const int handle = ::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return false;
  // The descriptor that reads the folder counts only in /proc/self/fd: among pids it is a process.
  const int own = std::string_view(folder) == kOwnDescriptors ? handle : -1;
  alignas(DirectoryEntry) char entries[kEntries];
  while (true) {
    const long got = ::syscall(SYS_getdents64, handle, entries, sizeof entries);
    if (got <= 0) break;
    for (long at = 0; at < got;) {
      DirectoryEntry entry{};
      // Copied: the buffer holds characters, which must not be read through another type.
      std::memcpy(&entry, entries + at, offsetof(DirectoryEntry, name));
      const char* name = entries + at + offsetof(DirectoryEntry, name);
      at += entry.length;
      int number = 0;
      const auto [end, error] = std::from_chars(name, name + std::strlen(name), number);
      if (error == std::errc() && *end == '\0' && number != own) visit(number, context);
    }
  }
  ::close(handle);
  return true;
}

void close_from(int first) {
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, 0U) == 0) return;
  each_descriptor_from(first, close_above);
}

void close_from_on_exec(int first) {
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, CLOSE_RANGE_CLOEXEC) == 0) {
    return;
  }
  each_descriptor_from(first, close_on_exec_above);
}

}  // namespace ocrtune
