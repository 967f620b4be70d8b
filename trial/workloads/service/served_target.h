// The user's own service as a load target: an HTTP address, with or without the command that serves
// it, or a command that answers JSON lines (trial/workloads/service/command_target.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "trial/workloads/service/http_target.h"
#include "trial/workloads/service/load_target.h"

namespace ocrtune {

struct ServedTargetOptions {
  std::vector<std::string> command;  // empty: the server that answers at `url` runs already
  // Empty: the command reads and answers JSON lines. With {copy} there are several servers, and
  // each request goes to one with the fewest under way.
  std::string url;
  std::vector<std::string> inputs;  // files to send, one kind each
  double start_seconds = 600;       // for the first answer: a model is loaded
  int copies = 1;
  AnswerCheck check{};  // of every answer; may be empty
};

// Errors: as of http_target.h and command_target.h; failed: another program listens at the URL
// before the command is started, or the server ended or did not answer in time, with its last line.
// Where there is a command it ends with the target, and all that it has started.
Result<std::unique_ptr<LoadTarget>> make_served_target(const ServedTargetOptions& options);

// failed: a command is given with a URL at which another program listens already.
Status check_address_is_free(const std::vector<std::string>& command, const std::string& url);

}  // namespace ocrtune
