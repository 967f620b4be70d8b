// The verdict of tune_setup.h: what a run's trials say, and the launch that it comes to.
#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "base/secrets.h"
#include "trial/workloads/command/command_fill.h"
#include "tuner/job/job_workload.h"
#include "tuner/models/long_look.h"
#include "tuner/search/inert_search.h"
#include "tuner/search/search.h"
#include "tuner/session/run_launch.h"
#include "tuner/session/tune_setup.h"
#include "tuner/slo/slo_words.h"

namespace ocrtune {
namespace {

// The line, and its environment for a file; a secret is in neither.
void tell_launch(RunRecord& run) {
  Recommendation& recommended = run.result.recommendation;
  const auto launch = workload_of(run.job, run.search)
                          ->launch(run.machine, recommended.knobs, seen_of_program(run));
  recommended.command = launch_text(launch);
  recommended.env.clear();
  if (!launch || !run.result.found) return;
  std::copy_if(launch->environment.begin(), launch->environment.end(),
               std::back_inserter(recommended.env),
               [](const auto& one) { return !looks_secret(one.first); });
}

// Whose rate it is was guessed, and settings of several processes ran.
Reason assumed_scope(const RunRecord& run) {
  const CommandWorkload& program = run.job.program();
  const bool several = std::ranges::any_of(
      run.trials, [](const Trial& trial) { return trial.ok() && trial.knobs.nproc > 1; });
  if (!program.scope_assumed || !several) return {};
  return program.per_rank.value_or(false) ? reason<ReasonCode::scope_assumed_of_rank>()
                                          : reason<ReasonCode::scope_assumed_of_job>();
}

// Copies that each go through all of it.
Reason alike_copies(const RunRecord& run) {
  const SettingSummary* alone = nullptr;
  const SettingSummary* several = nullptr;
  for (const SettingSummary& setting : run.result.settings) {
    if (setting.knobs.nproc == 1) alone = &setting;
    if (setting.knobs == run.result.recommendation.knobs) several = &setting;
  }
  const bool copies = starts_copies(run.job.program());
  if (!copies || alone == nullptr || several == nullptr || several->knobs.nproc < 2) return {};
  // The same total with one copy and with several: each copy goes through all inputs.
  if (!(alone->counts_to > 0) || alone->counts_to != several->counts_to) return {};
  return reason<ReasonCode::copies_count_alike>(counted(several->knobs.nproc),
                                                general(alone->counts_to, 6));
}

// Tells `search` the trials, and fills run.result.
void judge_by(RunRecord& run, const TuneSetup& setup, Search& search) {
  const LongLook look = long_look(run.trials);
  RecommendOptions options = setup.recommend;
  options.cold = run.cold;
  const std::vector<Trial> trials = by_long_look(run.trials, look, &options.cold);
  double seconds = 0;
  for (const Trial& trial : trials) {
    search.tell(trial);
    seconds += trial.seconds;
  }
  options.run_id = run.id;
  options.stop_reason = run.stop_reason;
  // The run's seconds are those of all its trials, whatever they were for.
  for (const auto* part : {&run.rehearsals, &run.soaks, &run.cold, &run.learning}) {
    for (const Trial& trial : *part) seconds += trial.seconds;
  }
  options.seconds = seconds;
  options.rehearsals = run.rehearsals;
  options.soaks = run.soaks;
  options.learning = run.learning;
  options.max_change = run.job.max_change();
  const UserCommandOptions* user = run.job.user();
  options.evaluation_steps = user == nullptr ? 0 : std::max(0, user->evaluation_steps);
  run.result = recommend(setup.space, search, trials, options);
  const Reason changes = long_look_reason(look);
  if (run.result.found && !changes.empty()) {
    // Of settings that nobody saw for as long nothing is bounded.
    run.result.certificate = {};
    run.result.certified_gap = -1;
    run.result.recommendation.reasons.push_back(changes);
  }
  for (const Reason& note : {assumed_scope(run), alike_copies(run)}) {
    if (run.result.found && !note.empty()) run.result.recommendation.reasons.push_back(note);
  }
  tell_launch(run);
  if (!run.job.slo().empty()) speak_of_slo(run);
}

}  // namespace

Result<std::unique_ptr<Judgement>> judge_run(RunRecord& run) {
  auto setup = OCRTUNE_TRY(tune_setup(run.job, run.search, run.machine));
  auto judgement = std::make_unique<Judgement>();
  judgement->setup = std::move(setup);
  judgement->search = make_search(judgement->setup.space, judgement->setup.search);
  judge_by(run, judgement->setup, *judgement->search);
  return judgement;
}

Status judge(RunRecord& run, const TuneSetup& setup) {
  judge_by(run, setup, *make_search(setup.space, setup.search));
  return Status();
}

Status judge(RunRecord& run) {
  return judge(run, OCRTUNE_TRY(tune_setup(run.job, run.search, run.machine)));
}

Status settle(RunRecord& run) {
  auto setup = OCRTUNE_TRY(tune_setup(run.job, run.search, run.machine));
  // The search proper would cost most of the time and is asked for nothing here.
  const auto search = make_growing_search(setup.space, setup.search, make_inert_test);
  const std::vector<Trial> trials = by_long_look(run.trials, long_look(run.trials));
  for (const Trial& trial : trials) search->tell(trial);
  setup.recommend.run_id = run.id;
  setup.recommend.stop_reason = run.stop_reason;
  setup.recommend.rehearsals = run.rehearsals;
  setup.recommend.soaks = run.soaks;
  run.result = settle(setup.space, *search, trials, setup.recommend);
  return Status();
}

}  // namespace ocrtune
