// SQL of the runs. Columns of trials and samples are those of trial/ipc/trial_fields.h, in its
// order; what has no column is JSON in one. Every write is one statement or one immediate
// transaction.
#include "tuner/store/store.h"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "diagnosis/failure_evidence.h"
#include "probes/machine/machine_json.h"
#include "trial/ipc/trial_fields.h"
#include "tuner/job/stored_job.h"
#include "tuner/store/columns.h"
#include "tuner/store/program_versions.h"
#include "tuner/store/run_holder.h"
#include "tuner/store/run_record.h"
#include "tuner/store/sqlite.h"
#include "tuner/store/store_file.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string holder_text(const RunHolder& holder) {
  return json_text({{"pid", holder.pid},
                    {"start_ticks", holder.start_ticks},
                    {"boot_id", holder.boot_id},
                    {"pid_namespace", holder.pid_namespace},
                    {"host", holder.host}});
}

// Unknown where none is stored, or what is stored is damaged.
Result<HolderState> read_holder(const Sqlite& sqlite, const std::string& run_id,
                                RunHolder& holder) {
  Statement row = sqlite.prepare("SELECT holder FROM run WHERE id = ?");
  row << run_id;
  if (!OCRTUNE_TRY(row.step())) return HolderState::unknown;
  const Json json = Json::parse(row.text(), nullptr, false);
  if (!json.is_object()) return HolderState::unknown;
  try {
    json.at("pid").get_to(holder.pid);
    json.at("start_ticks").get_to(holder.start_ticks);
    json.at("boot_id").get_to(holder.boot_id);
    json.at("pid_namespace").get_to(holder.pid_namespace);
    json.at("host").get_to(holder.host);
  } catch (const Json::exception&) {
    return HolderState::unknown;
  }
  return holder_state(holder);
}

// Many trials of a run have the same knobs, and the same evidence: of nothing.
struct TrialTexts {
  struct StoredKnobs {
    Knobs knobs;
    Status read;
  };
  std::map<std::string, StoredKnobs> knobs;
  std::map<std::string, FailureEvidence> counters;

  const StoredKnobs& knobs_of(const std::string& text) {
    const auto [found, fresh] = knobs.try_emplace(text);
    if (fresh) {
      // Damaged knobs leave the defaults; the raw text stays in the file.
      StoredKnobs& stored = found->second;
      stored.read = read_stored_knobs(Json::parse(text, nullptr, false), stored.knobs);
    }
    return found->second;
  }
  const FailureEvidence& counters_of(const std::string& text) {
    const auto [found, fresh] = counters.try_emplace(text);
    if (fresh) found->second = parse_evidence(text).value_or(FailureEvidence());
    return found->second;
  }
};

Trial read_trial(Statement& row, TrialTexts& texts) {
  Trial trial;
  trial.id = row.integer();
  const auto& [knobs, read] = texts.knobs_of(row.text());
  trial.knobs = knobs;
  trial.outcome = parse_outcome(row.text()).value_or(Outcome::crashed);
  trial.counters = texts.counters_of(row.text());
  read_columns(kSearchFields, row, trial);
  read_columns(kObservedFields, row, trial);
  if (!read) trial.reason = read.error().what;
  return trial;
}

using TrialPlaces = std::map<std::int64_t, std::size_t>;  // by id, in the run's trials

Status read_samples(const Sqlite& sqlite, RunRecord& run, const TrialPlaces& places) {
  Statement rows =
      sqlite.prepare("SELECT trial_id" + column_names<Sample>(kSampleFields) +
                     " FROM sample WHERE trial_id IN (SELECT id FROM trial WHERE run_id = ?) "
                     "ORDER BY trial_id, position");
  rows << run.id;
  while (OCRTUNE_TRY(rows.step())) {
    Trial& trial = run.trials[places.at(rows.integer())];
    read_columns(kSampleFields, rows, trial.samples.emplace_back());
  }
  return Status();
}

// The run of this name; empty: there is none.
Result<std::string> run_named(const Sqlite& sqlite, const std::string& name) {
  Statement row = sqlite.prepare("SELECT id FROM run WHERE name = ?");
  row << name;
  if (!OCRTUNE_TRY(row.step())) return std::string();
  return row.text();
}

Status check_free(const Sqlite& sqlite, const std::string& name) {
  const auto holder = OCRTUNE_TRY(run_named(sqlite, name));
  if (holder.empty()) return Status();
  return Error{ErrorKind::usage,
               fmt::format("--name {0}: run {1} is called so; take another name, or remove that "
                           "run: ocrtune rm {0}",
                           name, holder)};
}

std::vector<Trial> take_phase(std::vector<Trial>& trials, const char* phase) {
  const auto taken = std::stable_partition(
      trials.begin(), trials.end(), [&](const Trial& trial) { return trial.phase != phase; });
  std::vector<Trial> of_phase(std::make_move_iterator(taken),
                              std::make_move_iterator(trials.end()));
  trials.erase(taken, trials.end());
  return of_phase;
}

}  // namespace

struct Store::Connection {
  std::unique_ptr<Sqlite> sqlite;

  // Runs `work` in one transaction; a refusal rolls back.
  template <typename Work>
  Status transaction(Work work) const {
    // IMMEDIATE takes the write lock at once: what `work` reads first still holds when it writes.
    Status status = sqlite->execute("BEGIN IMMEDIATE");
    if (!status) return status;
    status = work();
    const Status ended = sqlite->execute(status ? "COMMIT" : "ROLLBACK");
    if (status && !ended) {
      // A full disk can refuse the COMMIT itself; nothing of it is kept then.
      const Status rolled_back = sqlite->execute("ROLLBACK");
      (void)rolled_back;
      return ended;
    }
    return status;
  }
};

Store::Store(std::string path, std::unique_ptr<Connection> connection)
    : path_(std::move(path)), connection_(std::move(connection)) {}

Store::~Store() = default;

std::string Store::default_path() { return join_path(default_data_directory(), "runs.sqlite"); }

Result<std::unique_ptr<Store>> Store::open(const std::string& named, Mode mode) {
  const std::string path = named.empty() ? default_path() : named;
  auto sqlite =
      OCRTUNE_TRY(mode == Mode::write ? open_store_to_write(path) : open_store_to_read(path));
  auto connection = std::make_unique<Connection>(Connection{std::move(sqlite)});
  return std::unique_ptr<Store>(new Store(path, std::move(connection)));
}

Status Store::begin_run(const RunRecord& run) {
  const Sqlite& sqlite = *connection_->sqlite;
  const std::string facts = machine_json(run.machine, -1);
  return connection_->transaction([&]() -> Status {
    // The run keeps its own facts; this row is of the latest look at the machine, for lists.
    Statement machine = sqlite.prepare("INSERT OR REPLACE INTO machine VALUES (?, ?, ?)");
    machine << run.machine.fingerprint << run.machine.host << facts;
    const Status kept = machine.run();
    if (!kept) return kept;
    if (!run.name.empty()) OCRTUNE_TRY(check_free(sqlite, run.name));
    Statement head = sqlite.prepare(
        "INSERT INTO run VALUES (?, NULLIF(?, ''), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '')");
    head << run.id << run.name << run.started << run.command_line << run.state << run.stop_reason
         << run.machine.fingerprint << facts << job_json(run.job) << search_json(run.search)
         << json_text(Json(run.versions)) << holder_text(this_holder());
    return head.run();
  });
}

Status Store::check_name_free(const std::string& name) const {
  return check_free(*connection_->sqlite, name);
}

Status Store::remove_run(const std::string& run_id) {
  const Sqlite& sqlite = *connection_->sqlite;
  return connection_->transaction([&]() -> Status {
    RunHolder holder;
    const auto state = OCRTUNE_TRY(read_holder(sqlite, run_id, holder));
    if (state == HolderState::alive) {
      return Error{ErrorKind::usage,
                   fmt::format("run {} is being measured by process {}; nothing was removed",
                               run_id, holder.pid)};
    }
    // Samples first: they are found by their trials.
    for (const char* rows : {"sample WHERE trial_id IN (SELECT id FROM trial WHERE run_id = ?)",
                             "trial WHERE run_id = ?", "event WHERE run_id = ?"}) {
      Statement removed = sqlite.prepare(std::string("DELETE FROM ") + rows);
      removed << run_id;
      OCRTUNE_TRY(removed.run());
    }
    Statement head = sqlite.prepare("DELETE FROM run WHERE id = ?");
    head << run_id;
    OCRTUNE_TRY(head.run());
    return sqlite.execute(
        "DELETE FROM machine WHERE fingerprint NOT IN (SELECT fingerprint FROM run)");
  });
}

Result<std::vector<std::string>> Store::kept_folders(const std::string& run_id) const {
  Statement rows = connection_->sqlite->prepare(
      "SELECT kept_folder FROM trial WHERE run_id = ? AND kept_folder <> ''");
  rows << run_id;
  std::vector<std::string> folders;
  while (OCRTUNE_TRY(rows.step())) folders.push_back(rows.text());
  return folders;
}

Status Store::take_run(const std::string& run_id, const SearchRequest& search) {
  const Sqlite& sqlite = *connection_->sqlite;
  return connection_->transaction([&]() -> Status {
    RunHolder holder;
    const auto state = OCRTUNE_TRY(read_holder(sqlite, run_id, holder));
    if (state == HolderState::alive) {
      return Error{ErrorKind::usage, fmt::format("run {} is still being measured by process {}; "
                                                 "wait for its end, or end it first",
                                                 run_id, holder.pid)};
    }
    Statement row = sqlite.prepare(
        "UPDATE run SET state = 'running', verdict = '', holder = ?, search = ? WHERE id = ?");
    row << holder_text(this_holder()) << search_json(search) << run_id;
    return row.run();
  });
}

Status Store::add_trial(const std::string& run_id, Trial& trial) {
  const Sqlite& sqlite = *connection_->sqlite;
  return connection_->transaction([&]() -> Status {
    Statement row = sqlite.prepare("INSERT INTO trial VALUES (NULL, ?, ?, ?, ?" +
                                   column_marks<Trial>(kSearchFields) +
                                   column_marks<Trial>(kObservedFields) + ")");
    row << run_id << json_text(stored_knobs(trial.knobs)) << outcome_name(trial.outcome)
        << evidence_json(trial.counters);
    write_columns(kSearchFields, trial, row);
    write_columns(kObservedFields, trial, row);
    OCRTUNE_TRY(row.run());
    // Samples refer to it.
    trial.id = sqlite.last_row_id();
    Statement insert = sqlite.prepare("INSERT INTO sample VALUES (?, ?" +
                                      column_marks<Sample>(kSampleFields) + ")");
    std::int64_t position = 0;
    for (const Sample& sample : trial.samples) {
      insert.reset();
      insert << trial.id << position++;
      write_columns(kSampleFields, sample, insert);
      OCRTUNE_TRY(insert.run());
    }
    return Status();
  });
}

Status Store::add_event(const std::string& run_id, const std::string& text) {
  Statement row = connection_->sqlite->prepare("INSERT INTO event VALUES (?, ?, ?)");
  row << run_id << utc_now() << text;
  return row.run();
}

Status Store::finish_run(const std::string& run_id, const std::string& state,
                         const std::string& stop_reason, const std::string& verdict) {
  const Sqlite& sqlite = *connection_->sqlite;
  Statement row = sqlite.prepare(
      "UPDATE run SET state = ?, stop_reason = ?, verdict = ?, holder = '' WHERE id = ?");
  row << state << stop_reason << verdict << run_id;
  return row.run();
}

Result<std::string> Store::state_now(const std::string& run_id, const std::string& state) const {
  if (state != "running") return state;
  RunHolder holder;
  const auto now = OCRTUNE_TRY(read_holder(*connection_->sqlite, run_id, holder));
  return std::string(now == HolderState::dead ? "died" : "running");
}

Result<std::string> Store::full_id(const std::string& id) const {
  // A name begins with a letter and an id with a digit: each by its index.
  Statement whole = connection_->sqlite->prepare("SELECT id FROM run WHERE name = ?1 OR id = ?1");
  whole << id;
  if (OCRTUNE_TRY(whole.step())) return whole.text();
  Statement rows = connection_->sqlite->prepare(
      id == "last" ? "SELECT id FROM run ORDER BY started DESC, rowid DESC LIMIT 1"
                   : "SELECT id FROM run WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id LIMIT 2");
  if (id != "last") rows << id;
  std::vector<std::string> found;
  while (OCRTUNE_TRY(rows.step())) found.push_back(rows.text());
  if (found.size() == 1) return found[0];
  if (id == "last") return Error{ErrorKind::missing, no_runs_in(path_)};
  if (!found.empty()) {
    return Error{ErrorKind::usage,
                 fmt::format("'{}' is the beginning of several runs; give more of it", id)};
  }
  return Error{ErrorKind::missing,
               fmt::format("no run '{}' in {}; `ocrtune list runs` shows them", id, path_)};
}

Result<RunRecord> Store::load_run(const std::string& id) const {
  const auto full = OCRTUNE_TRY(full_id(id));
  const Sqlite& sqlite = *connection_->sqlite;
  RunRecord run;
  Statement head = sqlite.prepare(
      "SELECT id, name, started, command_line, state, stop_reason, facts, job, search, versions "
      "FROM "
      "run WHERE id = ?");
  head << full;
  OCRTUNE_TRY(head.step());
  run.id = head.text();
  run.name = head.text();
  run.started = head.text();
  run.command_line = head.text();
  run.state = head.text();
  run.stop_reason = head.text();
  run.machine = OCRTUNE_TRY(parse_machine_json(head.text()));
  run.job = OCRTUNE_TRY(parse_job(head.text()));
  run.search = OCRTUNE_TRY(parse_search(head.text()));
  run.state = OCRTUNE_TRY(state_now(run.id, run.state));
  if (run.state == "died") run.stop_reason = "died";
  const Json versions = Json::parse(head.text(), nullptr, false);
  for (const auto& [name, text] : versions.items()) {
    if (text.is_string()) run.versions[name] = text.get<std::string>();
  }

  Statement rows = sqlite.prepare(
      "SELECT id, knobs, outcome, counters" + column_names<Trial>(kSearchFields) +
      column_names<Trial>(kObservedFields) + " FROM trial WHERE run_id = ? ORDER BY id");
  rows << full;
  TrialPlaces places;
  TrialTexts texts;
  while (OCRTUNE_TRY(rows.step())) {
    run.trials.push_back(read_trial(rows, texts));
    places[run.trials.back().id] = run.trials.size() - 1;
  }
  OCRTUNE_TRY(read_samples(sqlite, run, places));
  // One table holds all of them; the phase tells them apart.
  run.rehearsals = take_phase(run.trials, kRehearsalPhase);
  run.soaks = take_phase(run.trials, kSoakPhase);
  run.cold = take_phase(run.trials, kColdPhase);
  run.learning = take_phase(run.trials, kLearningPhase);
  return run;
}

Result<std::vector<RunListing>> Store::list_runs() const {
  Statement rows = connection_->sqlite->prepare(
      "SELECT run.id, name, run.started, command_line, state, host, run.fingerprint, "
      "(SELECT count(*) FROM trial WHERE run_id = run.id), "
      "CASE versions WHEN ? THEN verdict ELSE '' END "
      "FROM run LEFT JOIN machine ON machine.fingerprint = run.fingerprint "
      "ORDER BY run.started DESC, run.rowid DESC");
  // A verdict of another version, or of other libraries, is not shown: it would be judged otherwise
  // now.
  rows << json_text(Json(std::map(program_versions().begin(), program_versions().end())));
  std::vector<RunListing> listings;
  while (true) {
    const auto row = OCRTUNE_TRY(rows.step());
    if (!row) return listings;
    RunListing listing;
    listing.id = rows.text();
    listing.name = rows.text();
    listing.started = rows.text();
    listing.command_line = rows.text();
    listing.state = rows.text();
    listing.host = rows.text();
    listing.fingerprint = rows.text();
    listing.trials = static_cast<int>(rows.integer());
    listing.verdict = rows.text();
    listing.state = OCRTUNE_TRY(state_now(listing.id, listing.state));
    listings.push_back(std::move(listing));
  }
}

Result<std::vector<StoredEvent>> Store::events(const std::string& run_id) const {
  Statement rows =
      connection_->sqlite->prepare("SELECT at, text FROM event WHERE run_id = ? ORDER BY rowid");
  rows << run_id;
  std::vector<StoredEvent> found;
  while (true) {
    const auto row = OCRTUNE_TRY(rows.step());
    if (!row) return found;
    StoredEvent event;
    event.at = rows.text();
    event.text = rows.text();
    found.push_back(std::move(event));
  }
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(static_cast<std::time_t>(wall_seconds())));
}

}  // namespace ocrtune
