// The verdict is not taken from the store: the run is judged anew by this version's rules.
#include "cli/commands/stored_run.h"

#include "cli/commands.h"
#include "tuner/session/session.h"
#include "tuner/store/store.h"

namespace ocrtune {

Result<RunRecord> judged_run(const std::string& database, const std::string& id) {
  const auto store = Store::open(database, Store::Mode::read);
  if (!store) return store.error();
  return judged_run(**store, id);
}

int exit_code_of(const RunRecord& run) {
  return is_recommendation(run.result.verdict) ? kExitOk : kExitNegative;
}

}  // namespace ocrtune
