#include "cli/commands/stored_run.h"

#include "tuner/session/tune_setup.h"
#include "tuner/store/store.h"

namespace ocrtune {

Result<RunRecord> judged_run(const std::string& database, const std::string& id) {
  const auto store =
      Store::open(database.empty() ? Store::default_path() : database, Store::Mode::read);
  if (!store) return store.error();
  auto run = (*store)->load_run(id);
  if (!run) return run.error();
  const Status judged = judge(*run);
  if (!judged) return judged.error();
  return run;
}

}  // namespace ocrtune
