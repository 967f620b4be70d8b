// A load target that is the user's command: one JSON object a line in, one a line out.
//
// Written to its standard input:  {"id": 7, "input": "lines/0007.png"}
// Expected on its output:         {"id": 7}   or   {"id": 7, "error": "cannot read it"}
// in any order; texts beside the id are compared, as in {"id": 7, "text": "Total 5"}. Other lines
// (logs) are passed over. The command ends when its input closes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/line_splitter.h"
#include "base/process_tree.h"
#include "base/result.h"
#include "trial/workloads/service/http_target.h"
#include "trial/workloads/service/load_target.h"

namespace ocrtune {

struct CommandTargetOptions {
  std::vector<std::string> command;
  std::vector<std::string> inputs;  // what kind k sends; empty: no "input" in the request
  // For the answer to a first request, which loads the model: start_patience.h.
  double start_seconds = 60, busy_start_seconds = 600;
  AnswerCheck check{};  // of each answer, a line of JSON; may be empty
};

class CommandTarget final : public LoadTarget {
 public:
  // Starts the command and waits for its first answer. missing, denied: no such program; failed: it
  // ended, answered nothing in time, or answered with an error (quoted).
  static Result<std::unique_ptr<CommandTarget>> start(const CommandTargetOptions& options);
  ~CommandTarget() override;  // closes its input, then ends it and all that it has started
  CommandTarget(const CommandTarget&) = delete;
  CommandTarget& operator=(const CommandTarget&) = delete;

  void start(std::uint64_t request, int kind) override;
  void collect(double until_seconds, std::vector<Completion>& finished) override;
  std::string failure() const override { return failure_; }
  std::string ended() const override { return ended_; }

 private:
  explicit CommandTarget(const CommandTargetOptions& options);
  Status open(const CommandTargetOptions& options);
  void send();  // what the pipe takes now
  void read_line(const std::string& line);
  void end_all(const std::string& why);
  Status check_reads();  // failed: it serves HTTP and has read nothing of its input

  ProcessTree tree_;
  Process* process_ = nullptr;
  int input_ = -1;  // our end of its standard input; -1 once it is closed
  std::vector<std::string> inputs_;
  std::string outbox_;
  LineSplitter lines_{kMaxAnswerBytes};
  AnswerCheck check_;
  std::unordered_map<std::uint64_t, int> waiting_;  // their kinds
  std::vector<Completion> answers_;
  std::string failure_, ended_;
};

}  // namespace ocrtune
