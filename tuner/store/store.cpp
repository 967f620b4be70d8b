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
#include "probes/machine/machine_json.h"
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

std::vector<std::string> parse_strings(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  std::vector<std::string> strings;
  if (!json.is_array()) return strings;
  for (const Json& item : json) {
    if (item.is_string()) strings.push_back(item.get<std::string>());
  }
  return strings;
}

Result<bool> has_table(const Sqlite& sqlite, const char* name) {
  Statement found = sqlite.prepare("SELECT 1 FROM sqlite_master WHERE name = ?");
  found << name;
  return found.step();
}

Status write_holder(const Sqlite& sqlite, const std::string& run_id) {
  const RunHolder holder = this_holder();
  Statement row = sqlite.prepare("INSERT OR REPLACE INTO run_holder VALUES (?, ?, ?, ?, ?, ?)");
  row << run_id << std::int64_t{holder.pid} << static_cast<std::int64_t>(holder.start_ticks)
      << holder.boot_id << holder.pid_namespace << holder.host;
  return row.run();
}

// Unknown where no holder is stored: an earlier ocrtune wrote the run.
Result<HolderState> read_holder(const Sqlite& sqlite, const std::string& run_id,
                                RunHolder& holder) {
  if (!OCRTUNE_TRY(has_table(sqlite, "run_holder"))) return HolderState::unknown;
  Statement row = sqlite.prepare(
      "SELECT pid, start_ticks, boot_id, pid_namespace, host FROM run_holder WHERE run_id = ?");
  row << run_id;
  const auto found = OCRTUNE_TRY(row.step());
  if (!found) return HolderState::unknown;
  holder.pid = static_cast<int>(row.integer());
  holder.start_ticks = static_cast<std::uint64_t>(row.integer());
  holder.boot_id = row.text();
  holder.pid_namespace = row.text();
  holder.host = row.text();
  return holder_state(holder);
}

Trial read_trial(Statement& row) {
  Trial trial;
  trial.id = row.integer();
  // Damaged knobs leave the defaults; the raw text stays in the file.
  const Status knobs = read_stored_knobs(Json::parse(row.text(), nullptr, false), trial.knobs);
  trial.phase = row.text();
  trial.why = row.text();
  trial.repetition = static_cast<int>(row.integer());
  trial.outcome = parse_outcome(row.text()).value_or(Outcome::crashed);
  trial.cause = row.text();
  trial.reason = row.text();
  if (!knobs) trial.reason = knobs.error().what;
  trial.evidence = parse_strings(row.text());
  trial.reproduce = row.text();
  trial.samples_per_second = row.real();
  trial.peak_bytes = static_cast<std::uint64_t>(row.integer());
  trial.seconds = row.real();
  trial.start_seconds = row.real();
  trial.placement = row.text();
  trial.log_tail = row.text();
  trial.started = row.text();
  return trial;
}

Sample read_sample(Statement& row) {
  Sample sample;
  sample.samples_per_second = row.real();
  sample.seconds = row.real();
  sample.steps = row.integer();
  sample.step.data_seconds = row.real();
  sample.step.compute_seconds = row.real();
  sample.step.all_reduce_seconds = row.real();
  sample.step.wait_seconds = row.real();
  sample.interference.external_cpus = row.real();
  sample.interference.run_queue_wait_share = row.real();
  sample.interference.pressure_share = row.real();
  sample.interference.throttled_seconds = row.real();
  sample.interference.steal_share = row.real();
  sample.interference.swapped_pages = static_cast<std::uint64_t>(row.integer());
  sample.interference.spoilt_by = row.text();
  return sample;
}

using TrialPlaces = std::map<std::int64_t, std::size_t>;  // by id, in the run's trials

// Calls read(row, trial) for each row of the table that belongs to a trial of the run, in order. No
// rows: an earlier ocrtune, which had no such table, wrote the store.
template <typename Read>
Status read_rows(const Sqlite& sqlite, const char* table, const char* columns, RunRecord& run,
                 const TrialPlaces& places, const Read& read) {
  if (!OCRTUNE_TRY(has_table(sqlite, table))) return Status();
  Statement rows =
      sqlite.prepare(fmt::format("SELECT trial_id, {1} FROM {0} JOIN trial ON trial.id = trial_id "
                                 "WHERE run_id = ? ORDER BY {0}.rowid",
                                 table, columns));
  rows << run.id;
  while (OCRTUNE_TRY(rows.step())) read(rows, run.trials[places.at(rows.integer())]);
  return Status();
}

void read_latency(Statement& row, Trial& trial) {
  trial.latency.steps = row.integer();
  trial.latency.p50_seconds = row.real();
  trial.latency.p90_seconds = row.real();
  trial.latency.p95_seconds = row.real();
  trial.latency.p99_seconds = row.real();
  trial.joules_per_sample = row.real();
  trial.control_share = row.real();
}

void read_threads(Statement& row, Trial& trial) {
  ThreadUse& use = trial.threads;
  use.alive = static_cast<int>(row.integer());
  use.busy = row.real();
  use.cpus = row.real();
  use.runnable = row.real();
  use.voluntary_switches_per_second = row.real();
  use.involuntary_switches_per_second = row.real();
  use.throttled_share = row.real();
  use.runtimes = parse_strings(row.text());
}

// After the samples themselves.
void read_observation(Statement& row, Trial& trial) {
  const auto position = static_cast<std::size_t>(row.integer());
  if (position >= trial.samples.size()) return;
  Interference& seen = trial.samples[position].interference;
  seen.observed_seconds = row.real();
  seen.cpu_seconds = row.real();
  seen.available_cpus = row.real();
  seen.external_wait_seconds = row.real();
  seen.longest_external_wait_seconds = row.real();
}

Status read_parts(const Sqlite& sqlite, RunRecord& run, const TrialPlaces& places) {
  const auto read = [&](const char* table, const char* columns, const auto& take) {
    return read_rows(sqlite, table, columns, run, places, take);
  };
  OCRTUNE_TRY(read("trial_more",
                   "latency_steps, p50_seconds, p90_seconds, p95_seconds, p99_seconds, "
                   "joules_per_sample, control_share",
                   read_latency));
  OCRTUNE_TRY(
      read("sample",
           "sample.samples_per_second, sample.seconds, steps, data_seconds, compute_seconds, "
           "all_reduce_seconds, wait_seconds, foreign_cpus, run_queue_wait_share, pressure_share, "
           "throttled_seconds, steal_share, swapped_pages, spoilt_by",
           [](Statement& row, Trial& trial) { trial.samples.push_back(read_sample(row)); }));
  OCRTUNE_TRY(read("trial_round", "round", [](Statement& row, Trial& trial) {
    trial.round = static_cast<int>(row.integer());
  }));
  OCRTUNE_TRY(read("trial_network", "bytes_per_second", [](Statement& row, Trial& trial) {
    trial.network_bytes_per_second = row.real();
  }));
  OCRTUNE_TRY(read("trial_threads",
                   "alive, busy, cpus, runnable, voluntary_switches_per_second, "
                   "involuntary_switches_per_second, throttled_share, runtimes",
                   read_threads));
  return read("sample_more",
              "position, observed_seconds, cpu_seconds, available_cpus, external_wait_seconds, "
              "longest_external_wait_seconds",
              read_observation);
}

Status add_more(const Sqlite& sqlite, const Trial& trial) {
  Statement row = sqlite.prepare("INSERT INTO trial_more VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  row << trial.id << trial.latency.steps << trial.latency.p50_seconds << trial.latency.p90_seconds
      << trial.latency.p95_seconds << trial.latency.p99_seconds << trial.joules_per_sample
      << trial.control_share;
  return row.run();
}

// The run of this name; empty: there is none.
Result<std::string> run_named(const Sqlite& sqlite, const std::string& name) {
  if (!OCRTUNE_TRY(has_table(sqlite, "run_name"))) return std::string();
  Statement row = sqlite.prepare("SELECT run_id FROM run_name WHERE name = ?");
  row << name;
  if (!OCRTUNE_TRY(row.step())) return std::string();
  return row.text();
}

Result<std::string> name_of(const Sqlite& sqlite, const std::string& run_id) {
  if (!OCRTUNE_TRY(has_table(sqlite, "run_name"))) return std::string();
  Statement row = sqlite.prepare("SELECT name FROM run_name WHERE run_id = ?");
  row << run_id;
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

Status add_name(const Sqlite& sqlite, const RunRecord& run) {
  if (run.name.empty()) return Status();
  OCRTUNE_TRY(check_free(sqlite, run.name));
  Statement row = sqlite.prepare("INSERT INTO run_name VALUES (?, ?)");
  row << run.id << run.name;
  return row.run();
}

Status add_threads(const Sqlite& sqlite, const Trial& trial) {
  const ThreadUse& use = trial.threads;
  if (use.alive == 0 && use.runtimes.empty()) return Status();
  Statement row = sqlite.prepare("INSERT INTO trial_threads VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  row << trial.id << std::int64_t{use.alive} << use.busy << use.cpus << use.runnable
      << use.voluntary_switches_per_second << use.involuntary_switches_per_second
      << use.throttled_share << json_text(Json(use.runtimes));
  return row.run();
}

Status add_round(const Sqlite& sqlite, const Trial& trial) {
  if (trial.round == 0) return Status();
  Statement row = sqlite.prepare("INSERT INTO trial_round VALUES (?, ?)");
  row << trial.id << std::int64_t{trial.round};
  return row.run();
}

Status add_network(const Sqlite& sqlite, const Trial& trial) {
  if (trial.network_bytes_per_second == 0) return Status();
  Statement row = sqlite.prepare("INSERT INTO trial_network VALUES (?, ?)");
  row << trial.id << trial.network_bytes_per_second;
  return row.run();
}

Status add_observation(const Sqlite& sqlite, std::int64_t trial, std::int64_t position,
                       const Interference& seen) {
  Statement row = sqlite.prepare("INSERT INTO sample_more VALUES (?, ?, ?, ?, ?, ?, ?)");
  row << trial << position << seen.observed_seconds << seen.cpu_seconds << seen.available_cpus
      << seen.external_wait_seconds << seen.longest_external_wait_seconds;
  return row.run();
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

Result<std::unique_ptr<Store>> Store::open(const std::string& path, Mode mode) {
  auto sqlite =
      OCRTUNE_TRY(mode == Mode::write ? open_store_to_write(path) : open_store_to_read(path));
  auto connection = std::make_unique<Connection>(Connection{std::move(sqlite)});
  return std::unique_ptr<Store>(new Store(path, std::move(connection)));
}

Status Store::begin_run(const RunRecord& run) {
  const Sqlite& sqlite = *connection_->sqlite;
  const std::string facts = machine_json(run.machine, -1);
  return connection_->transaction([&]() -> Status {
    Statement machine = sqlite.prepare("INSERT OR REPLACE INTO machine VALUES (?, ?, ?)");
    machine << run.machine.fingerprint << run.machine.host << facts;
    const Status kept = machine.run();
    if (!kept) return kept;
    Statement head = sqlite.prepare("INSERT INTO run VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    head << run.id << run.started << run.command_line << run.state << run.stop_reason
         << run.machine.fingerprint << facts << run_options_json(run.options)
         << json_text(Json(run.versions));
    OCRTUNE_TRY(head.run());
    OCRTUNE_TRY(add_name(sqlite, run));
    return write_holder(sqlite, run.id);
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
    for (const char* table :
         {"sample", "sample_more", "trial_more", "trial_network", "trial_round", "trial_threads"}) {
      Statement rows = sqlite.prepare(fmt::format(
          "DELETE FROM {} WHERE trial_id IN (SELECT id FROM trial WHERE run_id = ?)", table));
      rows << run_id;
      OCRTUNE_TRY(rows.run());
    }
    for (const char* table : {"trial", "event", "run_holder", "run_name"}) {
      Statement rows = sqlite.prepare(fmt::format("DELETE FROM {} WHERE run_id = ?", table));
      rows << run_id;
      OCRTUNE_TRY(rows.run());
    }
    Statement head = sqlite.prepare("DELETE FROM run WHERE id = ?");
    head << run_id;
    OCRTUNE_TRY(head.run());
    return sqlite.execute(
        "DELETE FROM machine WHERE fingerprint NOT IN (SELECT fingerprint FROM run)");
  });
}

Status Store::take_run(const std::string& run_id) {
  const Sqlite& sqlite = *connection_->sqlite;
  return connection_->transaction([&]() -> Status {
    RunHolder holder;
    const auto state = OCRTUNE_TRY(read_holder(sqlite, run_id, holder));
    if (state == HolderState::alive) {
      return Error{ErrorKind::failed, fmt::format("run {} is still being measured by process {}; "
                                                  "wait for its end, or end it first",
                                                  run_id, holder.pid)};
    }
    Statement row = sqlite.prepare("UPDATE run SET state = 'running' WHERE id = ?");
    row << run_id;
    OCRTUNE_TRY(row.run());
    return write_holder(sqlite, run_id);
  });
}

Status Store::add_trial(const std::string& run_id, Trial& trial) {
  const Sqlite& sqlite = *connection_->sqlite;
  return connection_->transaction([&]() -> Status {
    Statement row = sqlite.prepare(
        "INSERT INTO trial VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    row << run_id << json_text(stored_knobs(trial.knobs)) << trial.phase << trial.why
        << std::int64_t{trial.repetition} << outcome_name(trial.outcome) << trial.cause
        << trial.reason << json_text(Json(trial.evidence)) << trial.reproduce
        << trial.samples_per_second << static_cast<std::int64_t>(trial.peak_bytes) << trial.seconds
        << trial.start_seconds << trial.placement << trial.log_tail << trial.started;
    const Status kept = row.run();
    if (!kept) return kept;
    trial.id = sqlite.last_row_id();
    const Status more = add_more(sqlite, trial);
    if (!more) return more;
    const Status round = add_round(sqlite, trial);
    if (!round) return round;
    OCRTUNE_TRY(add_network(sqlite, trial));
    OCRTUNE_TRY(add_threads(sqlite, trial));
    Statement insert = sqlite.prepare(
        "INSERT INTO sample VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    std::int64_t position = 0;
    for (const Sample& sample : trial.samples) {
      insert.reset();
      insert << trial.id << position << sample.samples_per_second << sample.seconds << sample.steps
             << sample.step.data_seconds << sample.step.compute_seconds
             << sample.step.all_reduce_seconds << sample.step.wait_seconds
             << sample.interference.external_cpus << sample.interference.run_queue_wait_share
             << sample.interference.pressure_share << sample.interference.throttled_seconds
             << sample.interference.steal_share
             << static_cast<std::int64_t>(sample.interference.swapped_pages)
             << sample.interference.spoilt_by;
      const Status inserted = insert.run();
      if (!inserted) return inserted;
      const Status seen = add_observation(sqlite, trial.id, position++, sample.interference);
      if (!seen) return seen;
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
                         const std::string& stop_reason) {
  const Sqlite& sqlite = *connection_->sqlite;
  return connection_->transaction([&]() -> Status {
    Statement row = sqlite.prepare("UPDATE run SET state = ?, stop_reason = ? WHERE id = ?");
    row << state << stop_reason << run_id;
    OCRTUNE_TRY(row.run());
    Statement holder = sqlite.prepare("DELETE FROM run_holder WHERE run_id = ?");
    holder << run_id;
    return holder.run();
  });
}

Result<std::string> Store::state_now(const std::string& run_id, const std::string& state) const {
  if (state != "running") return state;
  RunHolder holder;
  const auto now = OCRTUNE_TRY(read_holder(*connection_->sqlite, run_id, holder));
  return std::string(now == HolderState::dead ? "died" : "running");
}

Result<std::string> Store::full_id(const std::string& id) const {
  const auto named = OCRTUNE_TRY(run_named(*connection_->sqlite, id));
  if (!named.empty()) return named;
  Statement rows = connection_->sqlite->prepare(
      id == "last" ? "SELECT id FROM run ORDER BY started DESC, rowid DESC LIMIT 1"
                   : "SELECT id FROM run WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id LIMIT 2");
  if (id != "last") rows << id;
  std::vector<std::string> found;
  while (true) {
    const auto row = OCRTUNE_TRY(rows.step());
    if (!row) break;
    found.push_back(rows.text());
    if (found.back() == id) return id;
  }
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
      "SELECT id, started, command_line, state, stop_reason, facts, options, versions FROM run "
      "WHERE id = ?");
  head << full;
  OCRTUNE_TRY(head.step());
  run.id = head.text();
  run.started = head.text();
  run.command_line = head.text();
  run.state = head.text();
  run.stop_reason = head.text();
  run.machine = OCRTUNE_TRY(parse_machine_json(head.text()));
  run.options = OCRTUNE_TRY(parse_run_options(head.text()));
  run.state = OCRTUNE_TRY(state_now(run.id, run.state));
  if (run.state == "died") run.stop_reason = "died";
  run.name = OCRTUNE_TRY(name_of(sqlite, full));
  const Json versions = Json::parse(head.text(), nullptr, false);
  for (const auto& [name, text] : versions.items()) {
    if (text.is_string()) run.versions[name] = text.get<std::string>();
  }

  Statement rows = sqlite.prepare(
      "SELECT id, knobs, phase, why, repetition, outcome, cause, reason, evidence, reproduce, "
      "samples_per_second, peak_bytes, seconds, start_seconds, placement, log_tail, started "
      "FROM trial WHERE run_id = ? ORDER BY id");
  rows << full;
  TrialPlaces places;
  while (OCRTUNE_TRY(rows.step())) {
    run.trials.push_back(read_trial(rows));
    places[run.trials.back().id] = run.trials.size() - 1;
  }
  OCRTUNE_TRY(read_parts(sqlite, run, places));
  run.rehearsals = take_phase(run.trials, kRehearsalPhase);
  run.soaks = take_phase(run.trials, kSoakPhase);
  return run;
}

Result<std::vector<RunListing>> Store::list_runs() const {
  Statement rows = connection_->sqlite->prepare(
      "SELECT run.id, run.started, command_line, state, host, run.fingerprint, "
      "(SELECT count(*) FROM trial WHERE run_id = run.id) "
      "FROM run LEFT JOIN machine ON machine.fingerprint = run.fingerprint "
      "ORDER BY run.started DESC, run.rowid DESC");
  std::vector<RunListing> listings;
  while (true) {
    const auto row = OCRTUNE_TRY(rows.step());
    if (!row) return listings;
    RunListing listing;
    listing.id = rows.text();
    listing.started = rows.text();
    listing.command_line = rows.text();
    listing.state = rows.text();
    listing.host = rows.text();
    listing.fingerprint = rows.text();
    listing.trials = static_cast<int>(rows.integer());
    listing.state = OCRTUNE_TRY(state_now(listing.id, listing.state));
    listing.name = OCRTUNE_TRY(name_of(*connection_->sqlite, listing.id));
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
