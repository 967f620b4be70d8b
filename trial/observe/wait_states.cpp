// Threads are grouped by program, state and the kernel function that they sleep in
// (/proc/PID/task/TID/wchan). A rank of hundreds of threads is then a few lines.
#include "trial/observe/wait_states.h"

#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/files.h"
#include "base/plural.h"
#include "base/text.h"

namespace ocrtune {
namespace {

struct Group {
  int threads = 0;
  std::set<int> pids;
};

std::string state_word(char state) {
  switch (state) {
    case 'R':
      return "run";
    case 'D':
      return "wait for the kernel, uninterruptibly,";
    case 'T':
    case 't':
      return "are stopped";
    default:
      return "sleep";
  }
}

std::string place_of(const std::string& folder) {
  const auto text = read_file(folder + "/wchan", 128);
  // The kernel shows "0" where there is no function, or no right to see it.
  if (!text || text->empty() || *text == "0") return "";
  return std::string(trim(*text));
}

}  // namespace

std::vector<std::string> wait_states(const std::vector<ProcessFacts>& members) {
  constexpr std::size_t kMaxLines = 8;
  std::map<std::tuple<std::string, char, std::string>, Group> groups;
  for (const ProcessFacts& process : members) {
    const std::string folder = fmt::format("/proc/{}/task", process.pid);
    for (const std::string& thread : list_directory(folder).value_or(std::vector<std::string>())) {
      const auto stat = read_file(folder + "/" + thread + "/stat", 4096);
      const auto facts = stat ? parse_process_stat(*stat) : Result<ProcessFacts>(Error());
      if (!facts) continue;
      Group& group = groups[{process.name, facts->state, place_of(folder + "/" + thread)}];
      ++group.threads;
      group.pids.insert(process.pid);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [key, group] : groups) {
    const auto& [name, state, place] = key;
    std::vector<std::string> pids;
    for (int pid : group.pids) {
      // Eight pids are enough to look at by hand.
      if (pids.size() < 8) pids.push_back(fmt::format("{}", pid));
    }
    lines.push_back(fmt::format("{} of {} {}{} ({} {})", how_many(group.threads, "thread"), name,
                                state_word(state), place.empty() ? "" : " in " + place,
                                noun_after(static_cast<double>(pids.size()), "pid"),
                                join(pids, ", ")));
    if (lines.size() == kMaxLines) break;
  }
  return lines;
}

}  // namespace ocrtune
