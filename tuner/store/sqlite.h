// SQLite with our error kinds: one connection, and statements that bind and read in order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace ocrtune {

// A prepared statement. Bind in order with <<, step, read columns in order with text(), real()...
class Statement {
 public:
  Statement(sqlite3* connection, std::string_view sql, const std::string& path);
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  Statement& operator<<(std::string_view text);
  Statement& operator<<(double value);
  Statement& operator<<(std::int64_t value);

  // true: a row is there; false: done. Errors name the file.
  Result<bool> step();
  Status run();  // step until done
  void reset();  // to bind and run again

  // The next column of the row, from the first.
  std::string text();
  double real();
  std::int64_t integer();

 private:
  Error failure() const;

  sqlite3* connection_;
  sqlite3_stmt* statement_ = nullptr;
  std::string path_;
  int code_ = 0;  // the first refusal, reported by step()
  int bound_ = 0;
  int column_ = 0;
};

class Sqlite {
 public:
  enum class Access { read, write };
  static Result<std::unique_ptr<Sqlite>> open(const std::string& path, Access access);
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;
  ~Sqlite();

  Statement prepare(std::string_view sql) const { return Statement(connection_, sql, path_); }
  Status execute(const std::string& sql) const;             // several statements, no results
  Result<std::int64_t> number(std::string_view sql) const;  // one row, one number
  std::int64_t last_row_id() const;

 private:
  Sqlite(sqlite3* connection, std::string path);
  sqlite3* connection_;
  std::string path_;
};

}  // namespace ocrtune
