// The order of a first write: what the path is, the file's own header, the file with mode 0600,
// then SQLite, then the tables in one transaction. The header is read by hand since SQLite changes
// what it opens for writing.
#include "tuner/store/store_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "trial/ipc/trial_fields.h"
#include "tuner/store/columns.h"

namespace ocrtune {
namespace {

constexpr std::uint32_t kApplicationId = 0x6F637274;  // "ocrt"
constexpr std::uint32_t kSchemaVersion = 11;          // a new column needs a new one

// The tables; columns of trials and samples are those of trial/ipc/trial_fields.h.
std::string schema() {
  return "CREATE TABLE machine (fingerprint TEXT PRIMARY KEY, host TEXT, facts TEXT);"
         "CREATE TABLE run (id TEXT PRIMARY KEY, name TEXT UNIQUE, started TEXT, command_line TEXT,"
         " state TEXT, stop_reason TEXT, fingerprint TEXT, facts TEXT, job TEXT,"
         " search TEXT, versions TEXT, holder TEXT, verdict TEXT);"
         "CREATE TABLE trial (id INTEGER PRIMARY KEY, run_id TEXT REFERENCES run(id), knobs TEXT,"
         " outcome TEXT, counters TEXT" +
         column_types<Trial>(kSearchFields) + column_types<Trial>(kObservedFields) +
         ");"
         "CREATE TABLE sample (trial_id INTEGER REFERENCES trial(id), position INTEGER" +
         column_types<Sample>(kSampleFields) +
         ", PRIMARY KEY (trial_id, position));"
         "CREATE TABLE event (run_id TEXT REFERENCES run(id), at TEXT, text TEXT);"
         "CREATE INDEX trial_of_run ON trial(run_id);";
}

// Ours and of a version that we read?
Status accept_ids(std::uint32_t application, std::uint32_t version, const std::string& path) {
  if (application != kApplicationId) {
    return Error{ErrorKind::invalid,
                 path + " is a SQLite file of another program; name another with --db"};
  }
  if (version != kSchemaVersion) {
    return Error{ErrorKind::invalid,
                 fmt::format("store {} is of version {}, this ocrtune reads version {}; use {} "
                             "ocrtune for it, or another file with --db",
                             path, version, kSchemaVersion,
                             version > kSchemaVersion ? "the newer" : "the older")};
  }
  return Status();
}

Status accept_ids(const Sqlite& sqlite, const std::string& path) {
  const auto application = sqlite.number("PRAGMA application_id");
  const auto version = sqlite.number("PRAGMA user_version");
  if (!application) return application.error();
  if (!version) return version.error();
  return accept_ids(static_cast<std::uint32_t>(*application), static_cast<std::uint32_t>(*version),
                    path);
}

struct StoreFile {
  bool empty = true;     // or not there
  bool journal = false;  // a process is writing, or died while it was
};

// Asked of the file's own bytes (https://www.sqlite.org/fileformat2.html, 1.3), because SQLite
// changes what it opens for writing.
Result<StoreFile> look_at(const std::string& path) {
  constexpr std::size_t kHeaderBytes = 100;
  StoreFile file;
  if (is_directory(path)) {
    return Error{ErrorKind::usage,
                 path + " is a folder; name the file, such as " + join_path(path, "runs.sqlite")};
  }
  if (!path_exists(path)) return file;
  const auto header = OCRTUNE_TRY(read_file(path, kHeaderBytes));
  file.empty = header.empty();
  if (file.empty) return file;
  if (header.size() < kHeaderBytes || !starts_with(header, "SQLite format 3")) {
    return Error{ErrorKind::invalid, path + " is no SQLite file; name another with --db"};
  }
  const auto number = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = at; i < at + 4; ++i) {
      value = value << 8 | static_cast<unsigned char>(header[i]);
    }
    return value;
  };
  file.journal = path_exists(path + "-journal");
  // Offsets of application_id and user_version in the header.
  OCRTUNE_TRY(accept_ids(number(68), number(60), path));
  return file;
}

// In a transaction of its own, so that of several first starts at once one makes the tables.
Status prepare_schema(const Sqlite& sqlite, const std::string& path) {
  OCRTUNE_TRY(sqlite.execute("BEGIN IMMEDIATE"));
  const auto prepared = [&]() -> Status {
    const auto tables = OCRTUNE_TRY(sqlite.number("SELECT count(*) FROM sqlite_master"));
    if (tables == 0) {
      OCRTUNE_TRY(sqlite.execute(fmt::format("{} PRAGMA application_id={}; PRAGMA user_version={};",
                                             schema(), kApplicationId, kSchemaVersion)));
    }
    return accept_ids(sqlite, path);
  }();
  const Status ended = sqlite.execute(prepared ? "COMMIT" : "ROLLBACK");
  return prepared ? ended : prepared;
}

Status create_private(const std::string& path) {
  // SQLite would create it by the umask, and other users could read what this one runs.
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0 && errno != EEXIST) return system_error(errno, "create " + path);
  if (file >= 0) ::close(file);
  return Status();
}

}  // namespace

Result<std::unique_ptr<Sqlite>> open_store_to_write(const std::string& path) {
  const std::string folder = parent_path(path);
  const auto made = [&]() -> Status {
    if (folder == default_data_directory()) return make_data_directory();
    if (!folder.empty()) OCRTUNE_TRY(make_folder(folder));
    return Status();
  }();
  if (!made && made.error().kind == ErrorKind::denied) {
    return Error{ErrorKind::denied, made.error().what + "; name a store elsewhere with --db"};
  }
  OCRTUNE_TRY(made);
  OCRTUNE_TRY(look_at(path));
  OCRTUNE_TRY(create_private(path));
  auto sqlite = Sqlite::open(path, Sqlite::Access::write);
  if (!sqlite) return sqlite;
  OCRTUNE_TRY(prepare_schema(**sqlite, path));
  return sqlite;
}

Result<std::unique_ptr<Sqlite>> open_store_to_read(const std::string& path) {
  const std::string folder = parent_path(path);
  if (const Status there = check_there(path); !there) {
    if (there.error().kind != ErrorKind::missing) return there.error();
    return Error{ErrorKind::missing,
                 "no store at " + path + " yet: run `ocrtune tune` first, or name one with --db"};
  }
  if (folder == default_data_directory()) OCRTUNE_TRY(make_data_directory());
  const auto file = OCRTUNE_TRY(look_at(path));
  if (file.empty) return Error{ErrorKind::missing, no_runs_in(path)};
  // A journal is rolled back in the folder: both have to be writable.
  const bool writable = ::access(path.c_str(), W_OK) == 0 &&
                        ::access(folder.empty() ? "." : folder.c_str(), W_OK) == 0;
  Sqlite::Access access = Sqlite::Access::read;
  if (file.journal && writable) access = Sqlite::Access::write;  // to recover
  auto sqlite = Sqlite::open(path, access);
  if (!sqlite) return sqlite;
  OCRTUNE_TRY(accept_ids(**sqlite, path));
  return sqlite;
}

std::string no_runs_in(const std::string& path) {
  return "store " + path +
         " holds no runs yet; run `ocrtune tune` first, or name another with --db";
}

}  // namespace ocrtune
