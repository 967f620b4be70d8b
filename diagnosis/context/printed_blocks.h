// Blocks of lines in which a launcher says which process it saw fail first, and which children it
// started:
//   Root Cause (first observed failure):
//   [0]:
//     time      : 2025-01-01_10:00:00
//     rank      : 3 (local_rank: 3)
//     exitcode  : -9 (pid: 131)
// Sources: torch/distributed/elastic/multiprocessing/errors, ChildFailedError.format_msg; Open
// MPI's help-orterun.txt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ocrtune {

// Of the processes that one launcher watched, the one that it saw fail first.
struct FirstFailure {
  int rank = -1;
  std::string name{};  // of a pool's child, in place of a rank: "ForkPoolWorker-3 (pid 19)"
  std::optional<std::int64_t> exit_code;
  std::optional<double> when;  // seconds into the year
};

// A process that a launcher started, or a pool names: its rank or its name, and its pid.
struct Child {
  std::string pid;
  int rank = -1;
  std::string name{};
};

class LauncherReport {
 public:
  // Words of a report, or of a child.
  static bool begins(std::string_view line);
  bool open() const { return lines_left_ > 0; }
  // A line that begins a report, and those after it while it is open.
  void take_line(std::string_view line);
  const std::vector<FirstFailure>& failures() const { return failures_; }
  const std::vector<Child>& children() const { return children_; }

 private:
  bool take_child(std::string_view line);

  int lines_left_ = 0;
  FirstFailure now_;
  std::vector<FirstFailure> failures_;
  std::vector<Child> children_;
};

}  // namespace ocrtune
