// The one file in which every run is kept: SQLite, a trial is on disk before the next one starts.
//
// Tables: machine (by fingerprint), run (with the process that is measuring it), trial, sample,
// event. The schema's version is SQLite's user_version; a file of another version, or one that is
// not ours, is refused and left alone: its first bytes are read before SQLite opens it.
//
// A rollback journal, not a write-ahead log: that one needs memory shared by all who have the file
// open, which a home on NFS cannot give, and leaves files beside the store that a reader would have
// to be allowed to write.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

struct RunListing {
  std::string id, name, started, command_line, state, host, fingerprint;
  std::string verdict;  // that this version of ocrtune gave at the run's end; empty: none
  int trials = 0;
};

struct StoredEvent {
  std::string at;  // UTC, ISO 8601
  std::string text;
};

class Store {
 public:
  enum class Mode { read, write };

  // In write mode the last folder of the path and the file (for this user alone) are made as
  // needed; in read mode nothing is written, unless a process died while it wrote. Errors: usage (a
  // folder), denied, exhausted, missing (read mode), invalid (not ours, damaged, or of a newer
  // version).
  // An empty path: default_path().
  static Result<std::unique_ptr<Store>> open(const std::string& path, Mode mode);
  static std::string default_path();  // <default_data_directory()>/runs.sqlite

  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  // Writes the run's head (machine, options, versions) without its trials; this process holds it.
  // Errors: usage if another run has its name.
  Status begin_run(const RunRecord& run);
  // usage: another run has the name.
  Status check_name_free(const std::string& name) const;
  // With all that belongs to it. Errors: missing; usage if a living process measures it.
  Status remove_run(const std::string& run_id);
  // Folders that its failed trials left (Trial::kept_folder); some may be gone.
  Result<std::vector<std::string>> kept_folders(const std::string& run_id) const;
  // This process goes on with a stored run, which is judged by `search` from now on. Errors: usage
  // if another living process holds it.
  Status take_run(const std::string& run_id, const SearchRequest& search);
  // Commits the trial with its samples and gives it its id.
  Status add_trial(const std::string& run_id, Trial& trial);
  Status add_event(const std::string& run_id, const std::string& text);
  // `verdict`: verdict_name() of the run's result.
  Status finish_run(const std::string& run_id, const std::string& state,
                    const std::string& stop_reason, const std::string& verdict = "");

  // `id` may be a run's name, any unambiguous beginning of its id, or "last". The result field
  // stays empty.
  // A run that is "running" by a process that is no longer there is given as "died".
  Result<RunRecord> load_run(const std::string& id) const;
  Result<std::string> full_id(const std::string& id) const;  // of the same
  Result<std::vector<RunListing>> list_runs() const;         // newest first
  Result<std::vector<StoredEvent>> events(const std::string& run_id) const;

  const std::string& path() const { return path_; }

 private:
  struct Connection;
  Store(std::string path, std::unique_ptr<Connection> connection);
  Result<std::string> state_now(const std::string& run_id, const std::string& state) const;

  std::string path_;
  std::unique_ptr<Connection> connection_;
};

std::string utc_now();  // "2026-11-21T07:40:08Z"

}  // namespace ocrtune
