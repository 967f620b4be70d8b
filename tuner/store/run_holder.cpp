// Reads /proc/PID/stat, the boot id and the link of the PID namespace; no lock is held. A process
// that was killed leaves nothing to clean up.
#include "tuner/store/run_holder.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "base/files.h"
#include "base/process_tree.h"
#include "base/text.h"
#include "probes/host/machine_lock.h"

namespace ocrtune {
namespace {

std::optional<ProcessFacts> facts_of(int pid) {
  const auto line = read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
  if (!line) return std::nullopt;
  auto facts = parse_process_stat(*line);
  // A zombie still has its pid, and measures nothing any more.
  if (!facts || facts->state == 'Z' || facts->state == 'X') return std::nullopt;
  return *std::move(facts);
}

}  // namespace

RunHolder this_holder() {
  RunHolder holder;
  holder.pid = ::getpid();
  if (const auto facts = facts_of(holder.pid)) holder.start_ticks = facts->start_ticks;
  holder.boot_id = boot_id();
  std::error_code code;
  holder.pid_namespace = std::filesystem::read_symlink("/proc/self/ns/pid", code).string();
  utsname name{};
  if (::uname(&name) == 0) holder.host = name.nodename;
  return holder;
}

HolderState holder_state(const RunHolder& holder) {
  const RunHolder here = this_holder();
  if (holder.boot_id != here.boot_id) {
    // Another boot of this host ended all its processes; of another host nothing can be asked.
    return holder.host == here.host ? HolderState::dead : HolderState::unknown;
  }
  if (holder.pid_namespace != here.pid_namespace || here.boot_id.empty()) {
    return HolderState::unknown;
  }
  const auto facts = facts_of(holder.pid);
  return facts && facts->start_ticks == holder.start_ticks ? HolderState::alive : HolderState::dead;
}

}  // namespace ocrtune
