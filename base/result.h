// What a call that can fail returns: a value, or an Error that names the thing.
//
// Broken invariants of our own code abort through OCRTUNE_CHECK (base/check.h); a failed
// measurement is an Outcome in a Trial (trial/trial.h). Everything else that can fail returns a
// Result.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace ocrtune {

enum class ErrorKind {
  usage,        // the caller asked for something that makes no sense: wrong flag, knob, value
  missing,      // a file, run, program or device is not there
  invalid,      // it is there and its contents are damaged or of another version
  denied,       // no permission, read-only
  exhausted,    // no memory, no space, no descriptors
  unsupported,  // this machine or this build cannot do it
  interrupted,  // Ctrl-C or SIGTERM
  failed,       // anything else the system refused
};

// What there is too little of, where the kind is `exhausted`.
enum class Scarce { memory, gpu_memory, shared_memory };

struct Error {
  ErrorKind kind = ErrorKind::failed;
  std::string what;  // one line that names the thing: "open /sys/x: No such file or directory"
  // Of an interrupted command: what stands of it, how it goes on; empty: nothing does.
  std::string stands = {};
  Scarce scarce = Scarce::memory;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }

  const T& value() const& {
    OCRTUNE_CHECK(ok());
    return *std::get_if<T>(&state_);
  }
  T& value() & {
    OCRTUNE_CHECK(ok());
    return *std::get_if<T>(&state_);
  }
  T&& value() && {
    OCRTUNE_CHECK(ok());
    return std::move(*std::get_if<T>(&state_));
  }
  const Error& error() const {
    OCRTUNE_CHECK(!ok());
    return *std::get_if<Error>(&state_);
  }
  T value_or(T fallback) const& { return ok() ? value() : std::move(fallback); }

  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  std::variant<T, Error> state_;
};

// Success without a value: `return Status();`, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  void value() const { OCRTUNE_CHECK(ok()); }
  const Error& error() const {
    OCRTUNE_CHECK(!ok());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

// The value of a Result; if it has none, the calling function returns its error:
//   const std::string text = OCRTUNE_TRY(read_file(path));
#define OCRTUNE_TRY(...)                                \
  __extension__({                                       \
    auto ocrtune_result = __VA_ARGS__;                  \
    if (!ocrtune_result) return ocrtune_result.error(); \
    std::move(ocrtune_result).value();                  \
  })

// The error of a failed system call: kind from `code` (an errno), what = "<action>: <strerror>".
Error system_error(int code, const std::string& action);

}  // namespace ocrtune
