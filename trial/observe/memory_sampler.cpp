// A full reading is framed by cheap ones of the same processes: what changed meanwhile may be
// counted twice. PSS takes the process's memory lock, so its cost is measured as CPU time of this
// thread and sets when the next one may be due.
#include "trial/observe/memory_sampler.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/raw_proc.h"
#include "base/text.h"
#include "probes/host/memory_nodes.h"
#include "trial/proc/shm_files.h"

namespace ocrtune {
namespace {

constexpr const char* kShmFolder = "/dev/shm";
// Ten times a second: a process can take a gigabyte in that time.
constexpr double kRssSeconds = 0.1;
constexpr double kMinSeconds = 0.005;
constexpr double kRssCostShare = 0.003;  // of all CPUs
constexpr int kTornReadings = 3;

// The first `size` bytes of a small /proc file, into `block`.
std::string_view read_into(const std::string& path, std::array<char, 4096>& block) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  // One read() is enough: these files are made whole for the first one, and 4 KiB hold what is
  // needed.
  const ssize_t got = ::read(file, block.data(), block.size());
  ::close(file);
  return got > 0 ? std::string_view(block.data(), static_cast<std::size_t>(got))
                 : std::string_view();
}

// The number after "<name>" and blanks, in KiB; 0 when it is not there.
std::uint64_t field_bytes(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return 0;
  std::size_t begin = at + name.size();
  while (begin < text.size() && text[begin] == ' ') ++begin;
  std::uint64_t kib = 0;
  std::from_chars(text.data() + begin, text.data() + text.size(), kib);
  return kib * 1024;
}

// Whether this kernel says of PSS what of it is mapped files (Linux 5.3).
bool tells_files() {
  static const bool tells = [] {
    std::array<char, 4096> block{};
    return read_into("/proc/self/smaps_rollup", block).find("\nPss_File:") !=
           std::string_view::npos;
  }();
  return tells;
}

void read_resident(std::array<char, 4096>& block, ProcessMemory& process) {
  static const auto kPage = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::string_view status = read_into(fmt::format("/proc/{}/status", process.pid), block);
  process.rss_bytes = field_bytes(status, "\nVmRSS:\t");
  process.peak_rss_bytes = field_bytes(status, "\nVmHWM:\t");
  if (process.rss_bytes > 0) {
    process.shm_rss_bytes = process.rss_bytes;  // unless it is known
    if (!tells_files()) return;
    process.shm_rss_bytes = field_bytes(status, "\nRssShmem:\t");
    process.file_rss_bytes =
        // At least a page stays: an RSS of 0 would mean that the process has ended.
        std::min(field_bytes(status, "\nRssFile:\t"), process.rss_bytes - kPage);
    process.rss_bytes -= process.file_rss_bytes;
    process.code_bytes = field_bytes(status, "\nVmExe:\t") + field_bytes(status, "\nVmLib:\t");
    return;
  }
  // It has ended, or its many groups fill the block.
  const std::string_view text = read_into(fmt::format("/proc/{}/statm", process.pid), block);
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return;
  std::uint64_t pages = 0;
  std::from_chars(text.data() + blank + 1, text.data() + text.size(), pages);
  process.rss_bytes = process.shm_rss_bytes = pages * kPage;
}

// Of one that has ended, too, until its parent has waited for it. False: there is no such process.
bool read_faults(int pid, ProcessMemory& process) {
  static const auto kPage = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  char block[kStatBytes];
  ProcessStat stat;
  if (!read_process_stat(pid, block, stat)) return false;
  process.pid = pid;
  process.start_ticks = stat.start_ticks;
  process.faulted_bytes = stat.minor_faults * kPage;
  process.reaped_bytes = stat.children_minor_faults * kPage;
  return true;
}

}  // namespace

MemoryReading read_memory(const std::vector<ProcessFacts>& members, bool with_pss) {
  MemoryReading reading;
  std::array<char, 4096> block{};
  std::uint64_t files = 0;
  for (const ProcessFacts& member : members) {
    ProcessMemory process;
    process.pid = member.pid;
    read_faults(member.pid, process);
    process.start_ticks = member.start_ticks;
    read_resident(block, process);
    if (with_pss) {
      const std::string_view text =
          read_into(fmt::format("/proc/{}/smaps_rollup", member.pid), block);
      const std::uint64_t file = field_bytes(text, "\nPss_File:");
      // Without the right to read it, RSS counts instead.
      process.pss_bytes = text.empty() ? process.rss_bytes : field_bytes(text, "\nPss:") - file;
      process.pss_shared_bytes = field_bytes(text, "\nPss_Shmem:");
      files += file;
    }
    reading.code_bytes = std::max(reading.code_bytes, process.code_bytes);
    reading.rss_bytes += process.rss_bytes;
    reading.pss_bytes += process.pss_bytes;
    reading.pss_shared_bytes += process.pss_shared_bytes;
    reading.processes.push_back(process);
  }
  // No more code than there is file memory: PSS tells how much of it is resident.
  reading.code_bytes = std::min(reading.code_bytes, files);
  const std::uint64_t available = host_available_bytes();
  reading.available_bytes = available == std::numeric_limits<std::uint64_t>::max() ? 0 : available;
  return reading;
}

std::uint64_t shm_used_bytes() {
  struct statvfs facts {};
  if (::statvfs("/dev/shm", &facts) != 0) return 0;
  return static_cast<std::uint64_t>(facts.f_blocks - facts.f_bfree) * facts.f_frsize;
}

std::uint64_t host_available_bytes() {
  std::array<char, 4096> block{};
  const std::uint64_t bytes = field_bytes(read_into("/proc/meminfo", block), "\nMemAvailable:");
  const std::uint64_t host = bytes > 0 ? bytes : std::numeric_limits<std::uint64_t>::max();
  // Where a cpuset or a policy binds this process, what other nodes have free is not to be had.
  static const std::optional<CpuSet> kNodes = binding_nodes(FileRoot());
  return kNodes ? std::min(host, free_bytes_of(FileRoot(), *kNodes)) : host;
}

MemorySampler::MemorySampler(double cpus) : cpus_(std::max(1.0, cpus)), account_(cpus) {
  for (const std::string& name : list_directory(kShmFolder).value_or({})) {
    struct stat facts {};
    if (::stat(join_path(kShmFolder, name).c_str(), &facts) != 0) continue;
    // st_blocks is in units of 512 bytes (stat(2)).
    shm_before_[{facts.st_dev, facts.st_ino}] = static_cast<std::uint64_t>(facts.st_blocks) * 512;
  }
}

// What nobody of the tree has mapped is in no PSS; of mapped files, what nobody has touched.
void MemorySampler::add_unmapped_shm(const std::vector<ProcessFacts>& members,
                                     MemoryReading& reading) {
  std::uint64_t open = 0, mapped = 0;
  const std::vector<ShmFile> files =
      used_shm_files(members, kShmFolder, reading.pss_shared_bytes > 0, tmpfs_.paths());
  tmpfs_.note(files);
  forget_names_without_files();
  for (const ShmFile& file : files) {
    if (!file.name.empty() && file.writable) shm_names_.insert(file.name);
    const auto before = shm_before_.find({file.device, file.inode});
    const std::uint64_t old =
        before == shm_before_.end() ? tmpfs_.bytes_before(file) : before->second;
    (file.mapped ? mapped : open) += file.bytes > old ? file.bytes - old : 0;
  }
  reading.unmapped_shm_bytes = open + tmpfs_.closed_bytes(files);
  // Mapped pages that somebody touched are in PSS; the rest of these files takes memory all the
  // same.
  if (mapped > reading.pss_shared_bytes) {
    reading.unmapped_shm_bytes += mapped - reading.pss_shared_bytes;
  }
}

// In weeks a loader gives millions of names away.
void MemorySampler::forget_names_without_files() {
  std::erase_if(shm_names_, [](const std::string& name) {
    struct stat facts {};
    return ::lstat(join_path(kShmFolder, name).c_str(), &facts) != 0 && errno == ENOENT;
  });
}

// A reading during which processes come, go or change is taken again; when none is whole, the
// highest counts of what the tree did hold.
MemoryReading MemorySampler::read_all(ProcessTree& tree, std::uint64_t limit_bytes) {
  MemoryReading highest;
  std::vector<ProcessFacts> members = tree.scan();
  // Three times at most: a tree that never stands still is read as well as it can be.
  for (int i = 0; i < kTornReadings; ++i) {
    const MemoryReading before = read_memory(members, false);
    MemoryReading reading = read_memory(members, true);
    add_unmapped_shm(members, reading);
    const std::uint64_t doubtful = doubtful_bytes(before, reading, read_memory(members, false));
    reading.pss_bytes -= doubtful;
    const std::size_t known = members.size();
    members = tree.scan();
    const bool whole = doubtful == 0 && members.size() <= known;
    // At the limit the trial ends anyway, so a torn reading is good enough.
    if (whole || (limit_bytes > 0 && reading.bytes() >= limit_bytes)) return reading;
    if (reading.bytes() >= highest.bytes()) highest = std::move(reading);
  }
  return highest;
}

// What those say that are no members: who has ended and was not waited for yet, and the guards, who
// wait for orphans.
void MemorySampler::add_ended(const ProcessTree& tree, MemoryReading& reading) {
  std::set<int> pids;
  for (const ProcessMemory& process : reading.processes) pids.insert(process.pid);
  const auto add = [&](int pid, std::uint64_t start_ticks, bool unseen = false) {
    ProcessMemory ended;
    if (pids.count(pid) != 0 || !read_faults(pid, ended)) return;
    ended.unseen = unseen;
    // Another start time: the pid is another process's by now.
    if (start_ticks == 0 || start_ticks == ended.start_ticks) reading.processes.push_back(ended);
  };
  for (const auto& [pid, start_ticks] : looked_at_) add(pid, start_ticks);
  for (const ProcessFacts& one : tree.unreaped()) {
    if (looked_at_.count(one.pid) == 0) add(one.pid, one.start_ticks, true);
  }
  for (const auto& root : tree.roots()) {
    if (looked_at_.count(root->guard_pid()) == 0) add(root->guard_pid(), 0);
  }
  looked_at_.clear();
  for (const ProcessMemory& one : reading.processes) looked_at_[one.pid] = one.start_ticks;
}

void MemorySampler::update(ProcessTree& tree, double now_seconds, std::uint64_t limit_bytes,
                           bool force) {
  const std::uint64_t before = account_.bytes();
  // The reading takes time itself: what counts is when it was complete.
  const double came = steady_clock().now_seconds();
  double began = thread_cpu_seconds();
  MemoryReading reading = read_memory(tree.members(), false);
  add_ended(tree, reading);
  account_.take_rss(reading, now_seconds);
  tmpfs_.note(used_shm_files(tree.members(), kShmFolder, false, tmpfs_.paths()));
  rss_cost_ = thread_cpu_seconds() - began;
  if (force || account_.wants_pss(now_seconds, limit_bytes)) {
    began = thread_cpu_seconds();
    reading = read_all(tree, limit_bytes);
    add_ended(tree, reading);
    account_.take_pss(reading, now_seconds + steady_clock().now_seconds() - came,
                      thread_cpu_seconds() - began);
  }
  if (last_ >= 0 && now_seconds > last_) {
    growth_ = (static_cast<double>(account_.bytes()) - static_cast<double>(before)) /
              (now_seconds - last_);
  }
  last_ = now_seconds;
}

void MemorySampler::note_exit(const ProcessTree& tree, const ProcessExit& exit,
                              double now_seconds) {
  MemoryReading reading = read_memory(tree.members(), false);
  add_ended(tree, reading);
  account_.take_last(reading, now_seconds);
  rusage own{};
  ::getrusage(RUSAGE_SELF, &own);
  // A child inherits this process's high-water mark at fork, so a smaller one tells nothing.
  if (exit.peak_rss_bytes > static_cast<std::uint64_t>(own.ru_maxrss) * 1024) {
    account_.take_ended(exit.peak_rss_bytes);
  }
}

double MemorySampler::next_seconds(std::uint64_t limit_bytes) const {
  double pause = std::max(kRssSeconds, rss_cost_ / (kRssCostShare * cpus_));
  if (limit_bytes > 0 && growth_ > 0) {
    const double room =
        std::max(0.0, static_cast<double>(limit_bytes) - static_cast<double>(account_.bytes()));
    // A quarter of the way to the limit, so that growth is seen before it gets there.
    pause = std::min(pause, std::max(kMinSeconds, room / growth_ / 4));
  }
  return last_ + pause;
}

std::string unsure_peak_words(std::uint64_t peak_bytes, std::uint64_t possible_peak_bytes) {
  if (!is_unsure_peak(peak_bytes, possible_peak_bytes)) return "";
  return fmt::format("the memory peak is not sure: {} were read, {} are possible between readings",
                     format_bytes(peak_bytes), format_bytes(possible_peak_bytes));
}

}  // namespace ocrtune
