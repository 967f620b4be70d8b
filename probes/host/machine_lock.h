// One measurement at a time on a machine: two at once would measure each other.
//
// A record lock (fcntl) on a file that all users of the machine share, /tmp/ocrtune.lock, or the
// one in OCRTUNE_LOCK_DIR. The kernel gives a lock up with its process, so a dead one holds
// nothing, no child inherits it, and it says whose it is. Nothing is ever written into the file: it
// belongs to the first. Containers with a /tmp of their own do not see each other.
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace ocrtune {

std::string boot_id();  // of this machine since its start; empty: unknown

// Any user can have the lock and keep it: nobody waits for a turn for longer.
inline constexpr double kMaxTurnSeconds = 2 * 3600;
Error waited_too_long(const std::string& holder);  // of kind exhausted

class MachineLock {
 public:
  // Waits for its turn, for kMaxTurnSeconds at most; `waiting` (may be empty) is told once who
  // measures: "ocrtune tune (process 123, since 14:03:11)". Without `wait` that is an error of kind
  // exhausted, too. Takes nothing, and is no error, where no lock file can be had, and where the
  // holder started this process: then this measurement is part of the holder's. Errors: interrupted
  // while waiting; a folder of OCRTUNE_LOCK_DIR that is not there or refuses files.
  static Result<MachineLock> take(bool wait, const std::function<void(const std::string&)>& waiting,
                                  Clock& clock = steady_clock());

  MachineLock(MachineLock&& other) noexcept;
  MachineLock& operator=(MachineLock&& other) = delete;
  ~MachineLock();

  bool held() const { return file_ >= 0; }

 private:
  explicit MachineLock(int file) : file_(file) {}
  int file_;
};

}  // namespace ocrtune
