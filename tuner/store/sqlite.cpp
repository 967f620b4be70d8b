// SQLite's result codes as our kinds of error, each with the file's name. A statement remembers its
// first refusal and reports it at step(), so that binds need no check each.
#include "tuner/store/sqlite.h"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace ocrtune {
namespace {

// How long a writer waits for another one's transaction (guess).
constexpr int kBusyMilliseconds = 60000;

Error sqlite_error(sqlite3* connection, int code, const std::string& path) {
  ErrorKind kind = ErrorKind::failed;
  std::string reason = sqlite3_errmsg(connection);
  switch (code & 0xFF) {
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      kind = ErrorKind::denied;
      break;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      kind = ErrorKind::exhausted;
      break;
    // SQLite does not say why: errno does.
    case SQLITE_CANTOPEN: {
      const int cause = sqlite3_system_errno(connection);
      kind = cause == EACCES ? ErrorKind::denied : ErrorKind::missing;
      if (cause != 0) reason += fmt::format(": {}", std::strerror(cause));
      break;
    }
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      kind = ErrorKind::invalid;
      break;
    default:
      break;
  }
  return Error{kind, fmt::format("store {}: {}", path, reason)};
}

}  // namespace

Statement::Statement(sqlite3* connection, std::string_view sql, const std::string& path)
    : connection_(connection), path_(path) {
  code_ = sqlite3_prepare_v2(connection, sql.data(), static_cast<int>(sql.size()), &statement_,
                             nullptr);
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::operator<<(std::string_view text) {
  if (code_ == SQLITE_OK) {
    code_ = sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                              SQLITE_TRANSIENT);
  }
  return *this;
}

Statement& Statement::operator<<(double value) {
  if (code_ == SQLITE_OK) code_ = sqlite3_bind_double(statement_, ++bound_, value);
  return *this;
}

Statement& Statement::operator<<(std::int64_t value) {
  if (code_ == SQLITE_OK) code_ = sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}

Error Statement::failure() const { return sqlite_error(connection_, code_, path_); }

Result<bool> Statement::step() {
  if (code_ != SQLITE_OK) return failure();
  column_ = 0;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  code_ = code;
  return failure();
}

Status Statement::run() {
  while (true) {
    const auto row = OCRTUNE_TRY(step());
    if (!row) return Status();
  }
}

void Statement::reset() {
  sqlite3_reset(statement_);
  bound_ = 0;
}

std::string Statement::text() {
  const int column = column_++;
  const auto* bytes = sqlite3_column_text(statement_, column);
  if (bytes == nullptr) return "";
  return std::string(reinterpret_cast<const char*>(bytes),
                     static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

double Statement::real() { return sqlite3_column_double(statement_, column_++); }

std::int64_t Statement::integer() { return sqlite3_column_int64(statement_, column_++); }

Result<std::unique_ptr<Sqlite>> Sqlite::open(const std::string& path, Access access) {
  sqlite3* connection = nullptr;
  const int flags = access == Access::write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  const int code = sqlite3_open_v2(path.c_str(), &connection, flags, nullptr);
  if (code != SQLITE_OK) {
    Error error = sqlite_error(connection, code, path);
    sqlite3_close(connection);
    return error;
  }
  // A file that may only be read is opened, and the first write would fail.
  if (access == Access::write && sqlite3_db_readonly(connection, "main") == 1) {
    sqlite3_close(connection);
    return Error{ErrorKind::denied, "store " + path + " is readonly here; name another with --db"};
  }
  // sqlite_error() masks them, and keeps their low byte.
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_busy_timeout(connection, kBusyMilliseconds);
  return std::unique_ptr<Sqlite>(new Sqlite(connection, path));
}

Sqlite::Sqlite(sqlite3* connection, std::string path)
    : connection_(connection), path_(std::move(path)) {}

Sqlite::~Sqlite() { sqlite3_close(connection_); }

Status Sqlite::execute(const std::string& sql) const {
  const int code = sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return sqlite_error(connection_, code, path_);
  return Status();
}

Result<std::int64_t> Sqlite::number(std::string_view sql) const {
  Statement statement = prepare(sql);
  const auto row = OCRTUNE_TRY(statement.step());
  return row ? statement.integer() : 0;
}

std::int64_t Sqlite::last_row_id() const { return sqlite3_last_insert_rowid(connection_); }

}  // namespace ocrtune
