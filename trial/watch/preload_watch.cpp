// The whole text of /proc/PID/maps is searched for the library's real name, as the kernel shows
// mappings with links followed. CPU time decides, because a short shell without the library does no
// work.
#include "trial/watch/preload_watch.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/files.h"

namespace ocrtune {
namespace {

constexpr double kShareWithout = 0.2;  // of the CPU time: helpers may be what they are

std::string why_not_loaded(const std::string& maps) {
  // The loader belongs to the C library; musl and static programs have none of glibc.
  if (maps.find("libc.so.6") == std::string::npos) {
    return "it is linked statically, or with another C library";
  }
  return "its launcher clears LD_PRELOAD, or it changes its user";
}

}  // namespace

PreloadWatch::PreloadWatch(const std::string& library) {
  const std::string path = real_path(library).value_or(library);
  file_ = base_name(path);
}

void PreloadWatch::look(const std::vector<ProcessFacts>& members) {
  if (file_.empty()) return;
  for (const ProcessFacts& process : members) {
    const Identity id{process.pid, process.start_ticks};
    // Since the last look, so that time counts for what the process was then.
    const double ran = process.cpu_seconds - std::exchange(seen_[id], process.cpu_seconds);
    cpu_seconds_ += ran;
    const std::string folder = fmt::format("/proc/{}", process.pid);
    const auto maps = read_file(folder + "/maps", 16 << 20);
    if (!maps || maps->empty()) continue;  // it has just ended
    if (maps->find("/" + file_) != std::string::npos) {
      without_.erase(id);  // it was between exec and the loader's work
      continue;
    }
    Without& without = without_[id];
    without.cpu_seconds += ran;
    without.program = real_path(folder + "/exe").value_or(process.name);
    without.why = why_not_loaded(*maps);
  }
}

std::string PreloadWatch::missed() const {
  double seconds = 0;
  const Without* most = nullptr;
  for (const auto& [id, without] : without_) {
    seconds += without.cpu_seconds;
    if (most == nullptr || without.cpu_seconds > most->cpu_seconds) most = &without;
  }
  if (most == nullptr || seconds <= kShareWithout * cpu_seconds_) return "";
  return fmt::format("{} runs without {}: {}", most->program, file_, most->why);
}

}  // namespace ocrtune
