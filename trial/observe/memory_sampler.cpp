#include "trial/observe/memory_sampler.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "base/files.h"

namespace ocrtune {
namespace {

constexpr double kRssSeconds = 0.1;
constexpr double kPssSeconds = 0.5;
constexpr double kMinSeconds = 0.005;
constexpr double kCostShare = 0.003;    // of all CPUs
constexpr double kGrowthForPss = 0.05;  // RSS growth that makes the last PSS stale

double thread_cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The first `size` bytes of a small /proc file, into `block`.
std::string_view read_into(const std::string& path, std::array<char, 4096>& block) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
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

std::uint64_t resident_bytes(int pid, std::array<char, 4096>& block) {
  static const auto kPage = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::string_view text = read_into(fmt::format("/proc/{}/statm", pid), block);
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return 0;
  std::uint64_t pages = 0;
  std::from_chars(text.data() + blank + 1, text.data() + text.size(), pages);
  return pages * kPage;
}

}  // namespace

MemoryReading read_memory(const std::vector<ProcessFacts>& members, bool with_pss) {
  MemoryReading reading;
  std::array<char, 4096> block{};
  for (const ProcessFacts& process : members) {
    const std::uint64_t rss = resident_bytes(process.pid, block);
    reading.rss_bytes += rss;
    if (!with_pss) continue;
    const std::string_view text =
        read_into(fmt::format("/proc/{}/smaps_rollup", process.pid), block);
    reading.pss_bytes += text.empty() ? rss : field_bytes(text, "\nPss:");
    reading.pss_shared_bytes += field_bytes(text, "\nPss_Shmem:");
  }
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
  return bytes > 0 ? bytes : std::numeric_limits<std::uint64_t>::max();
}

MemorySampler::MemorySampler(double cpus)
    : cpus_(std::max(1.0, cpus)), shm_before_(shm_used_bytes()) {}

void MemorySampler::update(const std::vector<ProcessFacts>& members, double now_seconds,
                           bool force) {
  const double began = thread_cpu_seconds();
  MemoryReading reading = read_memory(members, false);
  rss_cost_ = thread_cpu_seconds() - began;
  const double grown =
      static_cast<double>(reading.rss_bytes) / static_cast<double>(rss_at_pss_ + 1);
  const double since = now_seconds - last_pss_;
  const bool stale = since >= kPssSeconds || grown > 1 + kGrowthForPss;
  const bool affordable = since >= pss_cost_ / (kCostShare * cpus_);
  if (last_pss_ < 0 || force || (stale && affordable)) {
    const double pss_began = thread_cpu_seconds();
    reading = read_memory(members, true);
    pss_cost_ = thread_cpu_seconds() - pss_began;
    last_pss_ = now_seconds;
    rss_at_pss_ = reading.rss_bytes;
    if (reading.rss_bytes > 0) {
      pss_per_rss_ =
          static_cast<double>(reading.pss_bytes) / static_cast<double>(reading.rss_bytes);
    }
    const std::uint64_t shm = shm_used_bytes();
    const std::uint64_t grown_shm = shm > shm_before_ ? shm - shm_before_ : 0;
    unmapped_shm_ = grown_shm > reading.pss_shared_bytes ? grown_shm - reading.pss_shared_bytes : 0;
  }
  // A shared page makes RSS grow faster than PSS; private growth is 1:1. Scaling lies between.
  const auto scaled =
      static_cast<std::uint64_t>(pss_per_rss_ * static_cast<double>(reading.rss_bytes));
  const std::uint64_t now_bytes = scaled + unmapped_shm_;
  if (last_ >= 0 && now_seconds > last_) {
    growth_ =
        (static_cast<double>(now_bytes) - static_cast<double>(bytes_)) / (now_seconds - last_);
  }
  last_ = now_seconds;
  bytes_ = now_bytes;
  peak_bytes_ = std::max(peak_bytes_, bytes_);
}

double MemorySampler::next_seconds(std::uint64_t limit_bytes) const {
  double pause = std::max(kRssSeconds, rss_cost_ / (kCostShare * cpus_));
  if (limit_bytes > 0 && growth_ > 0) {
    const double room =
        std::max(0.0, static_cast<double>(limit_bytes) - static_cast<double>(bytes_));
    pause = std::min(pause, std::max(kMinSeconds, room / growth_ / 4));
  }
  return last_ + pause;
}

}  // namespace ocrtune
