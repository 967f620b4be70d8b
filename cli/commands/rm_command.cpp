// ocrtune rm: take runs out of the store, and what their failed trials left.
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/plural.h"
#include "base/text.h"
#include "cli/commands.h"
#include "trial/workloads/command/kept_folder.h"
#include "tuner/store/store.h"

namespace ocrtune {
namespace {

struct RmFlags {
  std::vector<std::string> runs;
  std::string database;
};

// All are looked up before the first one goes: a mistyped name removes nothing.
Result<int> remove_runs(const RmFlags& flags) {
  OCRTUNE_TRY(Store::open(flags.database, Store::Mode::read));  // removing makes no store
  const auto store = OCRTUNE_TRY(Store::open(flags.database, Store::Mode::write));
  std::set<std::string> ids;
  for (const std::string& run : flags.runs) ids.insert(OCRTUNE_TRY(store->full_id(run)));
  const auto listings = OCRTUNE_TRY(store->list_runs());
  for (const RunListing& run : listings) {
    // Nothing is removed at all: the user named a set of runs.
    if (ids.count(run.id) > 0 && run.state == "running") {
      return Error{ErrorKind::usage, "run " + run.id + " is being measured; nothing was removed"};
    }
  }
  for (const RunListing& run : listings) {
    if (ids.count(run.id) == 0) continue;
    const auto folders = OCRTUNE_TRY(store->kept_folders(run.id));
    OCRTUNE_TRY(store->remove_run(run.id));
    for (const std::string& folder : folders) remove_kept_folder(folder);
    std::printf("removed %s%s: %s, %s\n", run.id.c_str(),
                run.name.empty() ? "" : (" (" + run.name + ")").c_str(),
                how_many(run.trials, "trial").c_str(), valid_utf8(run.command_line).c_str());
  }
  return kExitOk;
}

}  // namespace

CommandRun declare_rm(Flags& cli) {
  auto flags = std::make_shared<RmFlags>();
  cli.argument("runs", flags->runs, "Names or ids of runs, or beginnings of ids")
      .from_list("runs")
      .require("name the runs to remove, for example: ocrtune rm 2026-11-20-0a3f9");
  cli.store(flags->database);
  return [flags] { return remove_runs(*flags); };
}

}  // namespace ocrtune
